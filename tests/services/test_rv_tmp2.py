import pytest, json, logging
from django.contrib.auth.models import User
from tests.factories import make_trunk
@pytest.mark.django_db
def test_b(client) -> None:
    logging.disable(logging.CRITICAL)
    trunk = make_trunk(["F..", "...", "..."], ["CI / unit", "CI / lint", "Nightly / fuzz"])
    u = User.objects.create_user("kim", is_superuser=True, is_staff=True); client.force_login(u)
    client.raise_request_exception = False
    full = trunk.branch.repository.full_name
    base=f"/api/v1/repositories/{full}"
    N="a\0b\ud800"
    def go(m, path, body):
        r=getattr(client,m)(path, data=json.dumps(body), content_type="application/json")
        print(r.status_code, m, path, (r.content[:150] if r.status_code<500 else repr(r.exc_info[1])[:200] if getattr(r,'exc_info',None) else ''))
    sha=trunk.commits[0].sha
    go("post","/api/v1/alert-rules",{"repository":N,"name":"x"})
    go("post","/api/v1/alert-rules",{"repository":full,"name":N,"reason":N,"spec":{"description":N,"jobs":[N],"team":N,"branch":N,"threshold":10**30}})
    go("post","/api/v1/alert-rules",{"repository":full,"name":N,"reason":N,"spec":{"description":N,"team":N,"branch":N}})
    go("post","/api/v1/alert-rules/preview",{"repository":full,"name":N,"reason":N,"branch":N})
    go("post","/api/v1/silences",{"matchers":[{"name":"job","op":"=~","value":"a"}],"reason":N,"issue_url":"https://a/"+N,"starts_at":"2026-11-30T10:00:00Z","ends_at":"9999-12-31T23:59:59-12:00"})
    go("post","/api/v1/silences",{"matchers":[{"name":"job","op":"=~","value":"a"}],"reason":N,"issue_url":"https://a/","starts_at":"0001-01-01T00:00:00+14:00","ends_at":"2026-12-01T23:59:59Z"})
    go("post","/api/v1/targets",{"name":N,"kind":"webhook","config":{"url":"https://1.1.1.1/x"}})
    go("post","/api/v1/targets",{"name":"q","kind":N,"config":{"url":"https://1.1.1.1/x"}})
    go("post","/api/v1/targets",{"name":"q","kind":"webhook","config":{"url":["a"]}})
    go("post","/api/v1/targets",{"name":"q","kind":"email","config":{"to":[1,None]}})
    go("post","/api/v1/targets",{"name":"q","kind":"email","config":{"to":5}})
    go("post","/api/v1/targets",{"name":"q","kind":"github","config":{"repository":"a/b","token":"x","labels":5}})
    go("post","/api/v1/targets",{"name":"q2","kind":"webhook","config":{"url":"https://1.1.1.1/x"},"group_s":10**12})
    go("post","/api/v1/targets",{"name":"q3","kind":"webhook","config":{"url":"https://1.1.1.1/x"},"quiet":{"from":5,"to":[1],"zone":{"a":1},"priorities":5}})
    go("post","/api/v1/targets",{"name":"q4","kind":"webhook","config":{"url":"https://1.1.1.1/x", "typed": 5}})
    go("post","/api/v1/targets",{"name":"q5","service":"slack","fields":{"webhook":N}})
    go("post","/api/v1/targets",{"name":"q6","kind":"webhook","config":{"url":"https://1.1.1.1/x"},"teams":[N]})
    for q in [f"run={10**30}", "run=5", "commit=abcdef012345&job=a%00b", f"commit={sha}&job=a%00b", f"commit={sha[:8]}&job=CI / unit"]:
        r=client.post(f"{base}/test-results?{q}", data=b"<testsuite><testcase classname='c' name='r'/></testsuite>", content_type="application/xml")
        print(r.status_code, q, r.content[:200] if r.status_code<500 else repr(getattr(r,'exc_info',[0,0])[1])[:200])
    go("post","/api/v1/alerts/1/acknowledge",{"note":N})
    for p in ["/gate","/verdicts","/labels"]:
        go("post",base+p,{"sha":N,"commit":N,"job":N,"reason":N,"verdict":"flaky","label":"flaky"})
