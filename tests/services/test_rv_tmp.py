import pytest, itertools
from django.urls import get_resolver, URLPattern, URLResolver
from django.urls.converters import StringConverter, PathConverter
from django.contrib.auth.models import User
from tests.factories import make_trunk
from hud.models import *

def walk(r, prefix=""):
    for p in r.url_patterns:
        if isinstance(p, URLResolver): yield from walk(p, prefix+str(p.pattern))
        else: yield prefix+str(p.pattern), p

@pytest.mark.django_db
def test_b(client) -> None:
    import re, logging
    logging.disable(logging.CRITICAL)
    trunk = make_trunk(["F..", "...", "..."], ["CI / unit", "CI / lint", "Nightly / fuzz"])
    u = User.objects.create_user("kim", is_superuser=True, is_staff=True); client.force_login(u)
    client.raise_request_exception = False
    own, nm = trunk.branch.repository.owner, trunk.branch.repository.name
    q = "&".join(f"{k}=%00" for k in "q text filter job commit run branch author rule test name state matcher sha from to alert group group_name per_page page before service like open kind what who category signature repository shard only sort days since until regex lines".split())
    seen=set()
    for pat, p in walk(get_resolver()):
        names = re.findall(r"<([^>]+)>", pat)
        good = {"owner": own, "name": nm, "branch": "main", "sha": trunk.commits[0].sha}
        for bad in [None]+names:
            path = "/"+pat
            for n in names:
                conv, _, var = n.rpartition(":")
                val = "1" if conv in ("int","signed") else good.get(var, "x")
                if n == bad:
                    if conv in ("int","signed"): val="9"*30
                    else: val="%00a"
                path = path.replace(f"<{n}>", val)
            for full in (path, path+"?"+q):
                if full in seen: continue
                seen.add(full)
                for m in ("get","post"):
                    try:
                        r = getattr(client,m)(full, data={k:"\0" for k in "name text reason what kind query email field_url service repository group_s quiet_from action version rules lines op value label note pattern".split()} if m=="post" else None)
                    except Exception as e:
                        print("EXC", m, full, type(e).__name__, str(e)[:80]); continue
                    if r.status_code>=500: print(r.status_code, m, full[:120], repr(getattr(r,'exc_info',None) and r.exc_info[1])[:200])
