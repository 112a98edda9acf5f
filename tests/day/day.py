#!/usr/bin/env python3
"""A day in the life of a network: the whole story, on real servers, before a release.

Ann and Ben merge, Cleo works in NetBird's dashboard by hand. Users and a private repository are made for this run; the NetBird
account has to be a fresh one. Nothing is cleaned up. Takes ten to thirty minutes.

    NETBIRD_API_URL, NETBIRD_GITOPS_TEST_PERSON     the server, and the token of the owner of a fresh account
    NETBIRD_GITOPS_TEST_ENROLL                      COMMAND {url} {key} {hostname}: enrolls a machine
    GITEA_URL, GITEA_ADMIN_TOKEN                    Gitea or Forgejo, where jobs find the actions that the workflows use, and the token
                                                    of a site administrator (scope: all)
    NETBIRD_GITOPS_BINARY                           where the jobs get the program from: docs/gitea.md, step 4
    DAY_NETBIRD_STOP, DAY_NETBIRD_START             lines of shell; a start returns once the server answers
    DAY_NETBIRD_BACKUP, DAY_NETBIRD_RESTORE         a backup of the running server; a restore while it is stopped
    DAY_FORGE_STOP, DAY_FORGE_START
    DAY_RUNNER_STOP, DAY_RUNNER_START               a stop kills the job that runs; the runner's label is ubuntu-latest

With names of chapters, such as outages, it lives through the set-up and these only.

It prints one line a step: the time since the beginning, how long the step took, what was done. That is the log. It ends with 1
where anything was not as it should be.
"""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import time

from servers import Forge, NetBird, Refused, expect, expect_in, failures, opener, run, say, step, wait

WEEK = 604800
PATHS = {"groups": "/groups", "policies": "/policies", "routes": "/routes", "networks": "/networks", "posture_checks": "/posture-checks"}
home = pathlib.Path(tempfile.mkdtemp(prefix="day-"))
clone = home / "network"
program = home / "netbird-gitops"
site = Forge(os.environ["GITEA_URL"], "site", os.environ["GITEA_ADMIN_TOKEN"])
cleo = NetBird(os.environ["NETBIRD_API_URL"], os.environ["NETBIRD_GITOPS_TEST_PERSON"])
variables = {}  # as docs/gitea.md calls them
by_hand = set()  # ids of what Cleo made
keys = {}  # every key that was ever seen: id → the key as NetBird lists it
killed = {}  # id of a key whose run was stopped → what stopped it
pulls = []  # the numbers of all pull requests
enrollments = 0


# --- the network

def dashboard(method, path, **body):
    """What Cleo does by hand."""
    done = cleo.call(method, path, body or None)
    if method == "POST":
        by_hand.add(done["id"])
    return done


def there(path, names):
    return [one for one in cleo.get(path) if one["name"] in names]


def note_keys(stopped=None):
    """Remembers every key that there is, for the reckoning in the evening, and those that a stopped run has not given groups."""
    for key in cleo.get("/setup-keys"):
        keys.setdefault(key["id"], key)
        if stopped and not key["auto_groups"]:
            killed[key["id"]] = stopped


def numbered(name, count, first=1):
    return [f"{name}-{number:03}" for number in range(first, first + count)]


def one_off(names, groups, **more):
    """Entries of keys for one machine each, all in these groups."""
    return {name: {"type": "one-off", "expires_in": WEEK, "auto_groups": groups, **more} for name in names}


def recipient(who):
    return run(["age-keygen", "-y", str(home / f"{who}.txt")]).strip()


def sealed_copies():
    """Every sealed text that was ever committed, by the id of its key."""
    ann.git("fetch", "-q", "origin", "+netbird-gitops/inventory:refs/inventory", cwd=clone)
    found = {}
    for line in ann.git("log", "--format=", "--raw", "--no-abbrev", "--diff-filter=AM", "refs/inventory", cwd=clone).splitlines():
        blob, path = line.split()[3], line.split("\t")[1]
        if path.endswith(".age"):
            found[path.split(".")[-2]] = ann.git("cat-file", "blob", blob, cwd=clone)
    return found


def opened(sealed, *who):
    identities = [word for one in who or ("ann", "holder") for word in ("-i", str(home / f"{one}.txt"))]
    return run(["age", "-d", *identities], text=sealed).strip()


def opens(sealed, who):
    try:
        return opened(sealed, who)
    except RuntimeError:
        return None


def secrets_of(names):
    """The secret of the usable key of each name, opened from its sealed copy."""
    copies = sealed_copies()
    usable = {one["name"]: one["id"] for one in there("/setup-keys", names) if one["valid"] and one["id"] not in by_hand}
    return [opened(copies[usable[name]]) for name in names]


def enroll(hostnames, secrets):
    """Machines enroll, two at a time."""
    def one(hostname, key):
        values = {"url": cleo.url.removesuffix("/api"), "key": key, "hostname": hostname}
        run([word.format(**values) for word in os.environ["NETBIRD_GITOPS_TEST_ENROLL"].split()])
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        list(two.map(one, hostnames, secrets))
    global enrollments
    enrollments += len(hostnames)


# --- the repository

def as_bot(**more):
    """The environment of the program on an admin's laptop."""
    return variables | {"NETBIRD_API_TOKEN": variables["NETBIRD_APPLY_TOKEN"], "GITEA_TOKEN": variables["BOT_TOKEN"],
                        "GITEA_BRANCH": "main"} | more


def gitops(*arguments, codes=(0,), **more):
    return run([str(program), *arguments], as_bot(**more), clone, codes)


def to_main():
    ann.git("fetch", "-q", "origin", "main", cwd=clone)
    ann.git("checkout", "-q", "-B", "main", "FETCH_HEAD", cwd=clone)
    return json.loads((clone / "netbird.json").read_text())


def nothing_to_do():
    to_main()
    gitops("plan", "--detailed-exitcode")


def changed(old, patch):
    """A JSON merge patch: None takes an entry out."""
    if not isinstance(patch, dict) or not isinstance(old, dict):
        return patch
    kept = {name: value for name, value in old.items() if patch.get(name, "") is not None}
    return kept | {name: changed(old.get(name, {}), value) for name, value in patch.items() if value is not None}


def repo(path):
    return f"/repos/{variables['GITEA_REPO']}{path}"


def runs(workflow, **where):
    """The runs of a workflow, the newest first."""
    found = [one for one in ann.get(repo("/actions/runs?limit=50"))["workflow_runs"] if one["path"].startswith(workflow + "@")]
    return [one for one in found if all(one[name] == value for name, value in where.items())]


def newest(workflow, **where):
    return max((one["id"] for one in runs(workflow, **where)), default=0)


def finished(workflow, after, **where):
    """Waits until a run after that one has ended and no other one waits; returns the newest."""
    def ready():
        found = runs(workflow, **where)
        if found and found[0]["id"] > after and all(one["status"] == "completed" for one in found):
            return found[0]
    return wait(f"a run of {workflow}", ready, 600, 2.0)


def job_log(of, whole=False):
    """The log of a run, or what its last step of the program printed where there is one."""
    text = ""
    for job in ann.get(repo(f"/actions/runs/{of['id']}/jobs"))["jobs"]:
        with contextlib.suppress(Refused):  # it never ran
            text += ann.raw("GET", repo(f"/actions/jobs/{job['id']}/logs"))
    if whole:
        return text
    steps = re.split(r"^(?:##\[|::)group(?:\]|::)Run ", re.sub(r"(?m)^\S+Z ", "", text), flags=re.M)
    return ([text] + [part for part in steps if part.startswith("netbird-gitops")])[-1]


def dispatch(workflow, by, conclusion="success", **inputs):
    """*Run Workflow*."""
    before = newest(workflow)
    by.post(repo(f"/actions/workflows/{workflow}/dispatches"), ref="refs/heads/main", inputs=inputs)
    done = finished(workflow, before)
    expect(done["conclusion"] == conclusion, f"{workflow} by hand: {done['conclusion']}, not {conclusion}\n{job_log(done)}")
    note_keys()
    return done


def comments(number, what):
    """The comment of a plan or an apply under a pull request."""
    found = [one["body"] for one in ann.get(repo(f"/issues/{number}/comments")) if f"<!-- netbird-gitops {what} " in one["body"]]
    expect(len(found) < 2, f"pull request {number} has {len(found)} comments of {what}")
    return "".join(found)


class Pull:
    """A pull request: opened, planned, merged or closed."""

    def __init__(self, author, title, patch, plan, red=False):
        self.author, self.title, self.branch = author, title, f"{author.login}-{len(pulls) + 1}"
        with step(f"{author.name} proposes: {title}"):
            self.push(patch)
            self.number = author.post(repo("/pulls"), head=self.branch, base="main", title=title)["number"]
            pulls.append(self.number)
            self.planned(0, plan, red)

    def push(self, patch):
        """The patch, or a text of the file in its place, on a branch from the newest main."""
        file = to_main()
        self.author.git("checkout", "-q", "-B", self.branch, cwd=clone)
        text = patch if isinstance(patch, str) else json.dumps(changed(file, patch), indent=2, ensure_ascii=False) + "\n"
        (clone / "netbird.json").write_text(text)
        self.commit(self.title, "-a")

    def commit(self, message, *more):
        self.author.git("commit", "-q", "-m", message, *more, cwd=clone)
        self.author.git("push", "-qf", "origin", self.branch, cwd=clone)
        self.head = self.author.git("rev-parse", "HEAD", cwd=clone).strip()

    def planned(self, after, plan, red=False):
        """Waits for a plan after that run: what it has to say, and whether the check is red."""
        done, wanted = finished("plan.yml", after, head_sha=self.head), "failure" if red else "success"
        text = comments(self.number, "plan")
        expect(done["conclusion"] == wanted, f"the check is {done['conclusion']}, not {wanted}\n{text}")
        expect_in(plan, text, "the plan")

    def describe(self, text, plan, red=False):
        before = newest("plan.yml", head_sha=self.head)
        self.author.call("PATCH", repo(f"/pulls/{self.number}"), {"body": text})
        self.planned(before, plan, red)

    def agreement(self):
        return re.search(r"^Allow-Deletes: .*$", comments(self.number, "plan"), re.M)[0]

    def agree(self, by, plan):
        with step(f"{by.name} agrees in the description, and the check is green"):
            self.author = by
            self.describe(self.agreement(), plan)

    def button(self, by, how="merge"):
        def ready():
            try:
                by.post(repo(f"/pulls/{self.number}/merge"), Do=how)
                return True
            except Refused as error:
                if "try again" not in str(error).lower():
                    raise
        wait("the merge", ready, 60)

    def merge(self, by, result, conclusion="success", how="merge"):
        with step(f"{by.name} merges {self.number}: {self.title}"):
            before = newest("apply.yml")
            self.button(by, how)
            self.applied(finished("apply.yml", before), result, conclusion)

    def applied(self, done, result, conclusion="success"):
        expect(done["conclusion"] == conclusion, f"the apply is {done['conclusion']}, not {conclusion}\n{job_log(done)}")
        expect_in(result, comments(self.number, "apply"), "the result")
        note_keys()

    def close(self):
        self.author.call("PATCH", repo(f"/pulls/{self.number}"), {"state": "closed"})


def enrolled(names, by):
    """A machine enrolls with each of these keys, under a hostname of its own; then enrollment runs."""
    before = newest("apply.yml")
    with step(f"{len(names)} machines enroll: {names[0]} …"):
        enroll([f"host-{name}" for name in names], secrets_of(names))
    with step("enrollment gives them their names, and marks the keys"):
        dispatch("enrollment.yml", by)
        finished("apply.yml", before)
        missing = set(names) - {one["name"] for one in cleo.get("/peers")}
        expect(not missing, f"not there: {sorted(missing)}")
        entries = to_main()["setup_keys"]
        expect(all(entries[name].get("enrolled") for name in names), "not every key is marked")


def carry_on(by):
    """After whatever stopped an apply: a plan that wants nobody's agreement, an apply by hand, and all is as it should be."""
    with step(f"{by.name} starts the apply by hand, which carries on"):
        to_main()
        expect("refused" not in gitops("plan"), "the plan wants an agreement")
        dispatch("apply.yml", by)
        nothing_to_do()


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


# --- the story

def the_account_before():
    """An account that Cleo has built by hand."""
    with step("Cleo has a network already: groups, a policy, a name server, 6 machines of one key"):
        assert not cleo.get("/peers") and len(cleo.get("/policies")) == 1, "this account is not a fresh one"
        office = dashboard("POST", "/groups", name="office")
        dashboard("POST", "/groups", name="visitors")
        rule = {"name": "office-web", "enabled": True, "action": "accept", "bidirectional": True, "protocol": "tcp",
                "ports": ["80", "443"], "sources": [office["id"]], "destinations": [office["id"]]}
        dashboard("POST", "/policies", name="office-web", enabled=True, rules=[rule])
        dashboard("POST", "/dns/nameservers", name="office-dns", description="", enabled=True, primary=False, search_domains_enabled=False,
                  nameservers=[{"ip": "192.0.2.53", "ns_type": "udp", "port": 53}], groups=[office["id"]], domains=["office.example.org"])
        key = dashboard("POST", "/setup-keys", name="office", type="reusable", expires_in=WEEK, auto_groups=[office["id"]], usage_limit=0)
        enroll(numbered("office", 6), [key["key"]] * 6)
        dashboard("POST", "/users", name="Mira", email="mira@example.org", role="user", auto_groups=[], is_service_user=False)
        for login, role, name in [("gitops-plan", "auditor", "NETBIRD_PLAN_TOKEN"), ("gitops-apply", "admin", "NETBIRD_APPLY_TOKEN")]:
            user = cleo.post("/users", name=login, role=role, is_service_user=True, auto_groups=[])
            variables[name] = cleo.post(f"/users/{user['id']}/tokens", name="day", expires_in=365)["plain_token"]


def ten_actions():
    """docs/gitea.md, The short way."""
    global ann, ben
    with step("action 1: the program, from the URL that the jobs use"):
        with opener.open(os.environ["NETBIRD_GITOPS_BINARY"]) as answer:
            program.write_bytes(answer.read())
        program.chmod(0o755)
        variables["NETBIRD_GITOPS_BINARY"] = os.environ["NETBIRD_GITOPS_BINARY"]
        variables["NETBIRD_GITOPS_SHA256"] = hashlib.sha256(program.read_bytes()).hexdigest()
    with step("actions 2 and 3: the bot, the owner Ann, and their tokens; a second admin, Ben"):
        tag = secrets.token_hex(2)
        bot = site.new_user(f"netbird-bot-{tag}", "write:repository", "write:issue", "read:user")
        ann = site.new_user(f"ann-{tag}", "write:repository", "write:issue", "read:user", "write:user")
        ben = site.new_user(f"ben-{tag}", "write:repository", "write:issue", "read:user")
        variables["BOT_TOKEN"] = bot.token
        ann.post("/user/repos", name="network", private=True, default_branch="main")
        variables["GITEA_REPO"] = f"{ann.login}/network"
        ann.call("PUT", repo(f"/collaborators/{ben.login}"), {"permission": "write"})
    with step("action 4: a key pair that opens setup keys"):
        for who in ("ann", "holder"):
            run(["age-keygen", "-o", str(home / f"{who}.txt")])
    with step("actions 5 and 6: what is where, and init --setup"):
        variables.update(NETBIRD_API_URL=os.environ["NETBIRD_API_URL"], GITEA_URL=os.environ["GITEA_URL"], AGE_PUBLIC_KEY=recipient("ann"))
        ann.git("clone", "-q", f"{os.environ['GITEA_URL']}/{variables['GITEA_REPO']}.git", str(clone))
        gitops("init", "--setup", GITEA_TOKEN=ann.token)
    with step("action 7: the first push, whose apply adopts what is there"):
        ann.git("add", ".gitea", ".gitignore", "netbird.json", "netbird.schema.json", cwd=clone)
        ann.git("commit", "-qm", "The network as it is", cwd=clone)
        ann.git("push", "-q", "origin", "HEAD:main", cwd=clone)
        done = finished("apply.yml", 0)
        expect_in("adopted", job_log(done), "the first apply")
    with step("action 8: the branch rules, and doctor for both tokens"):
        gitops("init", "--setup", GITEA_TOKEN=ann.token)
        gitops("doctor", "--for", "plan", NETBIRD_API_TOKEN=variables["NETBIRD_PLAN_TOKEN"], GITEA_TOKEN=ann.token)
        gitops("doctor", "--for", "apply")
    pull = Pull(ann, "action 9: a first group", {"groups": {"first-try": {}}}, "1 to create")
    pull.merge(ann, "1 created")  # action 10


def first_things():
    """Everything is new: groups, policies, keys, a route, a network, DNS, a posture check."""
    groups = {name: {"peers": []} for name in ("pilots", "stations", "operators", "gateways")}
    policies = {"pilots-to-stations": {"sources": ["pilots"], "destinations": ["stations"], "protocol": "tcp", "ports": [22, 443]},
                "operators-ssh": {"sources": ["operators"], "destinations": ["stations"], "protocol": "tcp", "ports": [22]}}
    Pull(ann, "groups, and who reaches whom", {"groups": groups, "policies": policies}, "6 to create").merge(ben, "6 created")
    names = numbered("pilot", 20)
    patch = {"groups": {"pilots": {"peers": names}}, "setup_keys": one_off(names, ["pilots"])}
    Pull(ben, "20 pilots", patch, "20 to create").merge(ann, "20 created")
    enrolled(names, ann)
    Pull(ann, "not everybody reaches everybody", {"policies": {"Default": {"enabled": False}}}, "1 to change").merge(ben, "1 changed", how="squash")
    names = ["gw-1", "gw-2"]
    patch = {"groups": {"gateways": {"peers": names}}, "setup_keys": one_off(names, ["gateways"]), "peers": {"gw-1": {"ssh_enabled": True}},
             "routes": {"hangar-lan": {"network": "192.168.7.0/24", "peer_groups": ["gateways"], "groups": ["pilots"]}},
             "networks": {"hangar": {"resources": {"printer": {"address": "192.168.8.9", "groups": ["stations"]}}, "routers": [{"peer": "gw-1"}]}}}
    Pull(ben, "gateways, a route and a network that wait for them", patch, "to create").merge(ann, "created")
    enrolled(names, ben)
    with step("the apply by hand gives the network its router, and gw-1 its SSH"):
        dispatch("apply.yml", ann)
        expect(cleo.one("/peers", "gw-1")["ssh_enabled"], "gw-1 has no SSH")
        network = cleo.one("/networks", "hangar")
        expect(len(network["routers"]) == 1, f"hangar has {len(network['routers'])} routers")
    zone = {"domain": "hangar.example.org", "distribution_groups": ["pilots"],
            "records": [{"name": "printer", "type": "A", "content": "192.168.8.9"}, {"name": "gw", "type": "A", "content": {"peer": "gw-1"}}]}
    patch = {"dns": {"zones": {"hangar": zone}, "nameserver_groups": {"hangar-dns": {
        "nameservers": [{"peer": "gw-1"}], "groups": ["pilots"], "domains": ["lan.example.org"]}}}}
    Pull(ann, "names: a zone with an address of a machine, a name server", patch, "4 to create").merge(ben, "4 created", how="rebase")
    patch = {"posture_checks": {"recent": {"nb_version": "0.60.0"}}, "policies": {"operators-ssh": {"source_posture_checks": ["recent"]}}}
    Pull(ben, "operators need a recent client", patch, "1 to create, 1 to change").merge(ann, "1 created, 1 changed")


def fleet():
    """Machines in numbers, and the first kill."""
    for first in (1, 21):
        names = numbered("drone", 20, first)
        patch = {"groups": {"drones": {"peers": numbered("drone", first + 19)}}, "setup_keys": one_off(names, ["drones"])}
        Pull(ann, f"20 drones, from {first}", patch, "to create").merge(ben, "created")
        enrolled(names, ann)
    patch = {"groups": {"phones": {}}, "setup_keys": {"phones": {"type": "reusable", "expires_in": WEEK, "usage_limit": 40, "auto_groups": ["phones"]}}}
    Pull(ben, "one key for 40 phones", patch, "2 to create").merge(ann, "2 created")
    with step("40 machines enroll: phone-001 …"):
        enroll(numbered("phone", 40), secrets_of(["phones"]) * 40)
    names = numbered("station", 25)
    patch = {"groups": {"stations": {"peers": names}}, "setup_keys": one_off(names, ["stations"])}
    pull = Pull(ann, "25 ground stations", patch, "25 to create")
    with step(f"Ben merges {pull.number}; the runner is killed in the midst of its keys"):
        before = newest("apply.yml")
        pull.button(ben)
        wait("a key of the apply", lambda: there("/setup-keys", names), 120, 0.5)
        run(os.environ["DAY_RUNNER_STOP"])
        note_keys("the runner was killed")
        made = there("/setup-keys", names)
        say(f"  {len(made)} of 25 keys were made, {sum(bool(one['auto_groups']) for one in made)} have their groups")
        run(os.environ["DAY_RUNNER_START"])
        finished("apply.yml", before)
    carry_on(ann)
    enrolled(names, ben)


def changes():
    """Changes of every kind, renames, conflicts, two merges in a row."""
    patch = lambda port: {"policies": {"pilots-to-stations": {"ports": [22, port]}}}
    first = Pull(ann, "another port for pilots", patch(8443), "1 to change")
    second = Pull(ben, "yet another port for pilots", patch(9443), "1 to change")
    first.merge(ben, "1 changed")
    with step(f"{second.number} conflicts; Ben brings it up to date"):
        wait("the conflict", lambda: not ann.get(repo(f"/pulls/{second.number}"))["mergeable"], 60)
        second.push(patch(9443))
        second.planned(0, "8443")
    second.merge(ann, "1 changed")
    squads = {"groups": {name: {} for name in numbered("squad", 12)}}
    one, two = Pull(ann, "12 squads", squads, "12 to create"), Pull(ben, "a route less", {"routes": {"hangar-lan": {"enabled": False}}}, "1 to change")
    with step(f"{one.number} and {two.number} are merged in a row"):
        before = newest("apply.yml")
        one.button(ben)
        two.button(ann)
        done = finished("apply.yml", before)
        two.applied(done, "1 changed")
        expect(comments(one.number, "apply"), "nothing answers under the first")
    Pull(ann, "operators are a crew", {"groups": {"operators": None, "crew": {"peers": [], "renamed_from": "operators"}},
         "policies": {"operators-ssh": {"sources": ["crew"]}}}, "operators → crew").merge(ben, "operators → crew")
    patch = {"groups": {"crew": {"renamed_from": None}}, "setup_keys": {"phones": {"enrolled": True}},
             "policies": {"crew-web": {"sources": ["crew"], "destinations": ["stations"], "protocol": "tcp", "ports": [443]}}}
    Pull(ben, "the rename and the phones are done; a policy for the crew", patch, "1 to create").merge(ann, "1 created")
    patch = {"networks": {"hangar": {"resources": {"printer": {"address": "192.168.8.10"}, "camera": {"address": "192.168.8.11", "groups": ["stations"]}}}},
             "dns": {"nameserver_groups": {"hangar-dns": {"description": "the hangar's"}}, "zones": {"hangar": {"records": [
                 {"name": "printer", "type": "A", "content": "192.168.8.10"}, {"name": "gw", "type": "A", "content": {"peer": "gw-2"}}]}}},
             "posture_checks": {"recent": {"nb_version": "0.65.0"}}, "routes": {"hangar-lan": {"enabled": True, "metric": 100}}}
    Pull(ann, "addresses, records, a check, a route", patch, "to change").merge(ben, "changed")
    patch = {"account": {"settings": {"peer_login_expiration": 43200}}}
    Pull(ben, "people log in twice a day", patch, "1 to change").merge(ann, "1 changed")


def deletions():
    """What goes: agreed, refused, taken back."""
    drones = numbered("drone", 40)
    sold = lambda names, rest: {"groups": {"drones": {"peers": rest}}, "setup_keys": {name: None for name in names}}
    pull = Pull(ann, "3 drones are sold", sold(drones[:3], drones[3:]), "Allow-Deletes: ", red=True)
    pull.agree(ann, "6 to delete")
    pull.merge(ben, "deleted")
    pull = Pull(ben, "10 pilots leave, says nobody", {"groups": {"pilots": {"peers": numbered("pilot", 10)}},
                "setup_keys": {name: None for name in numbered("pilot", 10, 11)}}, "Allow-Deletes: ", red=True)
    with step("the check stays red: by words, by other digits, by a new push"):
        pull.describe("They are all gone, really.", "Allow-Deletes: ", red=True)
        number = pull.agreement().split()[1]
        pull.describe(f"Allow-Deletes: {number} {'0' * 32}", "Allow-Deletes: ", red=True)
        pull.commit("Please", "--allow-empty")
        pull.planned(0, "Allow-Deletes: ", red=True)
        pull.close()
    Pull(ann, "a file that is none", '{ "groups": { "pilots": { "peers": ["pilot-001",] } } }\n', "netbird.json", red=True).close()
    pull = Pull(ben, "the squads are disbanded", {"groups": {name: None for name in numbered("squad", 12)}}, "Allow-Deletes: ", red=True)
    pull.merge(ann, "refused", "failure")
    with step("Ben agrees after the merge, and runs the apply again"):
        pull.author.call("PATCH", repo(f"/pulls/{pull.number}"), {"body": pull.agreement()})
        [refused, *_] = runs("apply.yml")
        ben.post(repo(f"/actions/runs/{refused['id']}/rerun"))
        pull.applied(finished("apply.yml", refused["id"] - 1), "12 deleted")
    pull = Pull(ann, "2 drones are sold, by mistake", sold(drones[3:5], drones[5:]), "Allow-Deletes: ", red=True)
    pull.merge(ben, "refused", "failure")
    before = ben.git("show", f"{pull.head}~1:netbird.json", cwd=clone)
    Pull(ben, "no, they are not", before, "No changes").merge(ann, "No changes")
    pull = Pull(ann, "Mira is a network admin", {"users": {"mira@example.org": {"role": "network_admin", "auto_groups": ["crew"]}}},
                "Allow-Deletes: ", red=True)
    pull.agree(ben, "1 to change")
    pull.merge(ben, "1 changed")
    Pull(ben, "visitors and a policy leave the file", {"groups": {"visitors": None}, "policies": {"crew-web": None}}, "1 to delete").merge(ann, "1 deleted")
    with step("the group that Cleo made stays, the policy is gone"):
        cleo.one("/groups", "visitors")
        expect(not cleo.named("/policies", "crew-web"), "crew-web is there")


def by_hand_in_the_dashboard():
    """Namesakes, renames, deletions, members: what Cleo does, and what becomes of it."""
    with step("Cleo makes namesakes: a group, two policies, a key"):
        group = dashboard("POST", "/groups", name="night-watch")["id"]
        for port in ("80", "8080"):
            rule = {"name": "night-watch", "enabled": True, "action": "accept", "bidirectional": True, "protocol": "tcp", "ports": [port],
                    "sources": [group], "destinations": [group]}
            policy = dashboard("POST", "/policies", name="night-watch", enabled=True, rules=[rule])["id"]
        dashboard("POST", "/setup-keys", name="drone-010", type="one-off", expires_in=WEEK, auto_groups=[group], usage_limit=1)
    patch = {"groups": {"night-watch": {"peers": []}}, "policies": {"night-watch": {
        "sources": ["night-watch"], "destinations": ["stations"], "protocol": "tcp", "ports": [443], "bidirectional": False}}}
    pull = Pull(ann, "a night watch, of which there are two", patch, policy)
    pull.merge(ben, "skipped", "failure")
    with step("Ben says which policy is meant"):
        dispatch("apply.yml", ben, adopt=f"policies/night-watch={policy}")
        pull.applied(runs("apply.yml")[0], "1 changed")
    with step("Cleo renames a group, deletes a policy, opens a port, moves machines"):
        pilots, crew, stations = (cleo.one("/groups", name) for name in ("pilots", "crew", "stations"))
        members = lambda group: [one["id"] for one in group["peers"] or []]
        dashboard("PUT", f"/groups/{pilots['id']}", name="aviators", peers=members(pilots)[1:], resources=[])
        dashboard("PUT", f"/groups/{crew['id']}", name="crew", peers=[cleo.one("/peers", "office-001")["id"]], resources=[])
        dashboard("DELETE", f"/policies/{cleo.one('/policies', 'operators-ssh')['id']}")
        policy = cleo.one("/policies", "pilots-to-stations")
        rule = policy["rules"][0] | {"ports": ["22", "9443", "3389"], "sources": [pilots["id"]], "destinations": [stations["id"]]}
        dashboard("PUT", f"/policies/{policy['id']}", name=policy["name"], enabled=True, rules=[rule])
    with step("drift opens an issue"):
        dispatch("drift.yml", ann, "failure")
        [issue] = ann.get(repo("/issues?type=issues&state=open"))
        for word in ("aviators", "operators-ssh", "3389"):
            expect_in(word, issue["body"], "the issue")
    with step("the apply by hand brings all back; who was put into a group stays; drift closes the issue"):
        dispatch("apply.yml", ben)
        expect(len(cleo.one("/groups", "pilots")["peers"]) == 20, "a pilot is missing")
        expect(cleo.one("/groups", "crew")["peers_count"] == 1, "the member of the crew is gone")
        dispatch("drift.yml", ann)
        expect(not ann.get(repo("/issues?type=issues&state=open")), "the issue is open")
    with step("Cleo deletes a machine: nothing else follows"):
        dashboard("DELETE", f"/peers/{cleo.one('/peers', 'station-025')['id']}")
        nothing_to_do()
    with step("Ann takes over the group that Cleo made, on her laptop"):
        to_main()
        gitops("adopt", "groups/visitors")
        text = (clone / "netbird.json").read_text()
    Pull(ann, "visitors are ours again", text, "1 to adopt").merge(ben, "1 adopted")


def life_of_keys():
    """A key for its holder, a lost one, a machine that is replaced, a key that nobody needs."""
    tablet = one_off(["tablet"], ["crew"], recipients=[recipient("holder")], recipients_only=True)
    patch = {"groups": {"crew": {"peers": ["tablet", "kiosk"]}}, "setup_keys": tablet | one_off(["kiosk"], ["crew"]) | one_off(["spare"], ["phones"])}
    Pull(ann, "a tablet, whose holder alone opens its key; a kiosk; a spare", patch, "3 to create").merge(ben, "3 created")
    with step("the sealed text in the comment opens for the holder, and for nobody else"):
        sealed = re.findall(r"-----BEGIN AGE.*?-----END AGE ENCRYPTED FILE-----\n", comments(pulls[-1], "apply"), re.S)
        expect(len(sealed) == 3, f"{len(sealed)} sealed texts are in the comment")
        found = [opened(text, "holder") for text in sealed if not opens(text, "ann")]
        expect(found == secrets_of(["tablet"]), f"{len(found)} of them do not open for Ann")
    enrolled(["tablet"], ann)
    Pull(ben, "the kiosk's key was lost", {"setup_keys": {"kiosk": {"reissue_after": now()}}}, "to replace").merge(ann, "replaced")
    enrolled(["kiosk"], ben)
    patch = {"setup_keys": {"drone-006": {"enrolled": False, "reissue_after": now()}, "station-025": {"enrolled": False, "reissue_after": now()}}}
    Pull(ann, "drone-006 and the station that Cleo deleted are replaced", patch, "2 to create").merge(ben, "2 created")
    with step("the new machines enroll; the old drone goes once Ben agrees"):
        enroll(["new-drone", "new-station"], secrets_of(["drone-006", "station-025"]))
        dispatch("enrollment.yml", ann)
        to_main()
        line = re.search(r"^Allow-Deletes: (.*)$", gitops("plan"), re.M)[1]
        dispatch("apply.yml", ben, allow_deletes=line)
        for name, hostname in [("drone-006", "new-drone"), ("station-025", "new-station")]:
            expect(cleo.one("/peers", name)["hostname"] == hostname, f"{name} is the old machine")
        dispatch("enrollment.yml", ann)
        nothing_to_do()
    Pull(ben, "nobody needs the spare", {"setup_keys": {"spare": None}}, "1 to delete").merge(ann, "1 deleted")


def restored_from_backup():
    """NetBird forgets what was done since the backup."""
    with step("a backup of NetBird"):
        run(os.environ["DAY_NETBIRD_BACKUP"])
    names = numbered("camera", 20)
    patch = {"groups": {"cameras": {"peers": names}}, "setup_keys": one_off(names, ["cameras"]),
             "policies": {"cameras": {"sources": ["cameras"], "destinations": ["stations"], "bidirectional": False}}}
    Pull(ann, "20 cameras", patch, "22 to create").merge(ben, "22 created")
    enrolled(names[:10], ann)
    drones = numbered("drone", 35, 6)
    entries = {name: {"auto_groups": ["aircraft"]} for name in drones} | {"drone-004": None, "drone-005": None}
    patch = {"groups": {"drones": None, "aircraft": {"renamed_from": "drones", "peers": drones}}, "setup_keys": entries}
    pull = Pull(ben, "drones are aircraft, and two are sold", patch, "Allow-Deletes: ", red=True)
    pull.agree(ben, "to delete")
    pull.merge(ann, "deleted")
    with step("NetBird is restored: the cameras and the new name are gone, the sold drones are back"):
        run(os.environ["DAY_NETBIRD_STOP"])
        run(os.environ["DAY_NETBIRD_RESTORE"])
        run(os.environ["DAY_NETBIRD_START"])
        to_main()
        plan = gitops("plan")
        for words in ("drones → aircraft", "group      cameras", "10 names that no peer has", '"drone-004", "drone-005"'):
            expect_in(words, plan, "the plan")
    with step("Cleo deletes the sold drones again"):
        for path in ("/peers", "/setup-keys"):
            for one in there(path, ["drone-004", "drone-005"]):
                dashboard("DELETE", f"{path}/{one['id']}")
    carry_on(ann)
    patch = {"setup_keys": {name: {"enrolled": False, "reissue_after": now()} for name in names[:10]}}
    Pull(ben, "the 10 cameras that NetBird forgot enroll again", patch, "10 to create").merge(ann, "10 created")
    enrolled(names, ben)


def outages():
    """NetBird goes away in the midst of an apply, then the forge; then an apply on a laptop is killed."""
    posts, gates = numbered("post", 150), numbered("gate", 25)
    pull = Pull(ann, "150 posts", {"groups": {name: {} for name in posts}}, "150 to create")
    with step(f"Ben merges {pull.number}; NetBird stops in the midst"):
        before = newest("apply.yml")
        pull.button(ben)
        wait("a group of the apply", lambda: there("/groups", posts), 120, 0.5)
        run(os.environ["DAY_NETBIRD_STOP"])
        done = finished("apply.yml", before)
        run(os.environ["DAY_NETBIRD_START"])
        made = there("/groups", posts)
        say(f"  {len(made)} of 150 groups were made")
        pull.applied(done, "", "failure" if len(made) < 150 else "success")
    carry_on(ben)
    patch = {"groups": {"gates": {"peers": gates}} | {name: {} for name in numbered("hut", 150)}, "setup_keys": one_off(gates, ["gates"])}
    pull = Pull(ben, "150 huts and 25 gates", patch, "176 to create")
    with step(f"Ann merges {pull.number}; the forge stops in the midst"):
        before = newest("apply.yml")
        pull.button(ann)
        wait("a group of the apply", lambda: there("/groups", numbered("hut", 150)), 120, 0.5)
        run(os.environ["DAY_FORGE_STOP"])
        time.sleep(10)
        note_keys("the forge was away")
        say(f"  {len(there('/groups', numbered('hut', 150)))} of 150 groups and {len(there('/setup-keys', gates))} of 25 keys were made")
        run(os.environ["DAY_FORGE_START"])
        finished("apply.yml", before)
    carry_on(ann)
    enrolled(gates, ben)
    kiosks = numbered("kiosk", 25)
    pull = Pull(ann, "25 kiosks", {"groups": {"kiosks": {"peers": kiosks}}, "setup_keys": one_off(kiosks, ["kiosks"])}, "26 to create")
    with step(f"Ben merges {pull.number}; the runner is away, Ann applies on her laptop, and that is killed"):
        run(os.environ["DAY_RUNNER_STOP"])
        before = newest("apply.yml")
        pull.button(ben)
        to_main()
        with open(home / "laptop.log", "w") as log:
            laptop = subprocess.Popen([str(program), "apply", "--yes"], cwd=clone, env=os.environ | as_bot(), stdout=log, stderr=log)
        wait("a key of the apply", lambda: there("/setup-keys", kiosks) or laptop.poll() is not None, 120, 0.5)
        laptop.kill()
        expect(laptop.wait() == -9, "it was over already:\n" + (home / "laptop.log").read_text())
        note_keys("the apply on the laptop was killed")
        made = there("/setup-keys", kiosks)
        say(f"  {len(made)} of 25 keys were made, {sum(bool(one['auto_groups']) for one in made)} have their groups")
        run(os.environ["DAY_RUNNER_START"])
        pull.applied(finished("apply.yml", before), "")
    carry_on(ben)
    enrolled(kiosks, ann)


def evening():
    """The account is as the file and the inventory say, and every key is accounted for."""
    with step("Cleo deletes her namesakes"):
        for path, name in [("/policies", "night-watch"), ("/setup-keys", "drone-010")]:
            for one in there(path, [name]):
                if one.get("valid") or one.get("rules", [{}])[0].get("ports") == ["80"]:
                    dashboard("DELETE", f"{path}/{one['id']}")
    done = {name: {"reissue_after": None} for name, entry in to_main()["setup_keys"].items() if entry.get("reissue_after")}
    Pull(ann, "what asked for new keys has done its work", {"setup_keys": done}, "No changes").merge(ben, "No changes")
    with step("plan and drift find nothing, and 200 machines are there"):
        dispatch("enrollment.yml", ben)
        nothing_to_do()
        gitops("drift")
        number = len(cleo.get("/peers"))
        expect(number == 200, f"{number} machines are there")
    file = to_main()
    with step("an export has what the file has, and what Cleo made"):
        exported = json.loads(gitops("export"))
        for section, path in PATHS.items():
            entries, found = set(file[section]), set(exported[section])
            known = entries | {one["name"] for one in cleo.get(path) if one["id"] in by_hand}
            expect(entries <= found <= known, f"{section}: {sorted(found ^ known)}")
    with step("the inventory has the id of each entry, and NetBird has each of its objects"):
        sealed_copies()
        inventory = json.loads(ann.git("show", "refs/inventory:.netbird-gitops/default/inventory.json", cwd=clone))
        for section, path in PATHS.items():
            ours = {entry: ids for entry, ids in (inventory["created"] | inventory["adopted"]).items() if entry.startswith(section + "/")}
            entries, live = {f"{section}/{name}" for name in file[section]}, {one["id"] for one in cleo.get(path)}
            expect(set(ours) == entries, f"{section}: {sorted(set(ours) ^ entries)} are in one of file and inventory")
            expect(all(set(ids) <= live for ids in ours.values()), f"{section}: the inventory has dead ids")
    with step("every key opens with age, or is named; none that can be used is without a sealed copy"):
        note_keys()
        live, copies, counted, opens = {one["id"] for one in cleo.get("/setup-keys")}, sealed_copies(), {}, []
        for id, key in keys.items():
            what = "Cleo's" if id in by_hand else "opened" if id in copies else f"lost, since {killed.get(id)}; deleted by the next run"
            counted[what] = counted.get(what, 0) + 1
            if what == "opened":
                opens.append(opened(copies[id]))
                expect(opens[-1].startswith(key["key"].rstrip("*")), f"the copy of {key['name']} ({id}) holds another secret")
            elif what != "Cleo's":
                expect(id in killed, f"{key['name']} ({id}) has no sealed copy")
                expect(id not in live, f"{key['name']} ({id}) can be used, and has no sealed copy")
        for what, number in sorted(counted.items()):
            say(f"  {number} keys: {what}")
    with step("no comment and no log has a secret"):
        opens += [variables[name] for name in ("NETBIRD_PLAN_TOKEN", "NETBIRD_APPLY_TOKEN", "BOT_TOKEN")]
        pages = [ann.get(repo(f"/actions/runs?limit=50&page={page}"))["workflow_runs"] for page in range(1, 9)]
        texts = [job_log(one, whole=True) for page in pages for one in page]
        texts += [one["body"] for number in pulls for one in ann.get(repo(f"/issues/{number}/comments"))]
        expect(not [text for text in texts for one in opens if one in text], "a secret is in a comment or a log")
        say(f"  {len(texts)} texts were searched for {len(opens)} secrets")
    say(f"{len(pulls)} pull requests, {enrollments} enrollments, {len(keys)} keys, {len(cleo.get('/peers'))} machines at the end")


def main():
    chapters = [the_account_before, ten_actions, first_things, fleet, changes, deletions, by_hand_in_the_dashboard, life_of_keys,
                restored_from_backup, outages, evening]
    try:
        for chapter in chapters[:2] + [one for one in chapters[2:] if one.__name__ in sys.argv[1:] or len(sys.argv) == 1]:
            say(f"{chapter.__name__.replace('_', ' ')}: {chapter.__doc__.splitlines()[0]}")
            chapter()
    except Exception as error:
        say(f"the day ends here: {type(error).__name__}")
    say(f"{len(failures)} expectations failed" if failures else "all was as it should be")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
