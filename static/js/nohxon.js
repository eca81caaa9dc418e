// htmx looks at every attribute of every element for "hx-on:", which no page of HUD has, nor would its content security
// policy run it. Of a wide grid that is as long as all else that htmx does, at each swap again. So htmx, which comes
// next, is given a search that finds nothing.
(function () {
  "use strict";
  const real = window.XPathEvaluator;
  window.XPathEvaluator = class {
    createExpression() { return { evaluate: () => ({ iterateNext: () => null }) }; }
  };
  document.addEventListener("DOMContentLoaded", function () { window.XPathEvaluator = real; }, { once: true });
})();
