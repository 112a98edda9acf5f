"""What the story needs of its servers: their APIs, git, waiting, and one line a step."""

import base64
import contextlib
import json
import os
import subprocess
import time
import urllib.error
import urllib.request

failures = []
began = time.monotonic()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def say(text, seconds=None):
    """Prints one line: the time of the day of the run, how long it took, what was done."""
    clock = time.strftime("%H:%M:%S", time.gmtime(time.monotonic() - began))
    took = "" if seconds is None else f"{seconds:.1f} s"
    print(f"{clock} {took:>8}  {text}", flush=True)


@contextlib.contextmanager
def step(title):
    """One line of the log. What fails in it is named below the line; an exception ends the day."""
    start, known = time.monotonic(), len(failures)
    try:
        yield
    except Exception as error:
        failures.append(f"{type(error).__name__}: {error}")
        raise
    finally:
        say(title, time.monotonic() - start)
        for failure in failures[known:]:
            print(f"           FAILED: {failure}", flush=True)


def expect(condition, text):
    if not condition:
        failures.append(text)


def expect_in(wanted, text, where):
    expect(wanted in text, f"{where} does not say {wanted!r}:\n{text}")


def wait(what, ready, seconds=300, pause=1.0):
    """Asks until there is an answer, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := ready():
            return answer
        time.sleep(pause)
    raise TimeoutError(f"{what}: not within {seconds} s")


def run(command, env=None, cwd=None, codes=(0,), text=None):
    """Runs a program, or a line of shell, and returns what it printed."""
    done = subprocess.run(command, shell=isinstance(command, str), env=dict(os.environ) | (env or {}), cwd=cwd, input=text,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    if done.returncode not in codes:
        what = command if isinstance(command, str) else " ".join(command[:3])
        raise RuntimeError(f"{what} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Refused(Exception):
    pass


class Server:
    """An API that speaks JSON."""

    def __init__(self, url, authorization):
        self.url, self.authorization = url.rstrip("/"), authorization

    def call(self, method, path, body=None):
        text = self.raw(method, path, body)
        return json.loads(text) if text.strip() else None

    def raw(self, method, path, body=None):
        headers = {"Authorization": self.authorization, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with opener.open(request, timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise Refused(f"{method} {path}: {error.code} {error.read().decode()[:300]}") from None

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, **body):
        return self.call("POST", path, body)


class NetBird(Server):
    def __init__(self, url, token):
        super().__init__(url + "/api", f"Token {token}")

    def named(self, path, name):
        return [one for one in self.get(path) if one["name"] == name]

    def one(self, path, name):
        found = self.named(path, name)
        assert len(found) == 1, f"{len(found)} of {path} are named {name}"
        return found[0]


class Forge(Server):
    """Gitea or Forgejo, as somebody with a token."""

    def __init__(self, url, login, token):
        super().__init__(url + "/api/v1", f"token {token}")
        self.login, self.token = login, token
        self.name = login.split("-")[0].capitalize()

    def new_user(self, login, *scopes):
        """Makes a user with a token of these scopes; takes a site administrator."""
        password = base64.b32encode(os.urandom(20)).decode() + "-a1"
        self.post("/admin/users", username=login, password=password, email=f"{login}@example.org", must_change_password=False)
        basic = base64.b64encode(f"{login}:{password}".encode()).decode()
        user = Server(self.url, f"Basic {basic}")
        token = user.post(f"/users/{login}/tokens", name="day", scopes=scopes)["sha1"]
        return Forge(self.url.removesuffix("/api/v1"), login, token)

    def git(self, *arguments, cwd=None, codes=(0,)):
        """Runs git as this user. The token is in the environment, not on the command line."""
        env = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.extraHeader",
               "GIT_CONFIG_VALUE_0": f"Authorization: token {self.token}"}
        for role in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{role}_NAME": self.login, f"GIT_{role}_EMAIL": f"{self.login}@example.org"}
        return run(["git", *arguments], env, cwd, codes)
