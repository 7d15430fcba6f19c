"""A Flask application that logs people in with authlib, and judges what the identity host of Postern does."""
import logging
import os
import queue
import threading
import time
from urllib.parse import urlsplit

from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify, request
from joserfc import jwt
from joserfc.jwk import KeySet
from werkzeug.serving import make_server

from person import ISSUER, Browser, Person, SoftWebauthnDevice, api

LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
SCOPE = "openid email profile groups offline_access"


class Application:
    """The application's server, its client of authlib, and its entry in /oidc_clients."""

    def __init__(self, name, method, **fields):
        self.flask = Flask(name)
        self.flask.secret_key = os.urandom(16)
        self.server = make_server("127.0.0.1", 0, self.flask, threaded=True)
        self.url = f"http://127.0.0.1:{self.server.port}"
        self.logouts = queue.Queue()
        fields = {
            "name": name,
            "redirect_uris": [f"{self.url}/callback"],
            "post_logout_redirect_uris": [f"{self.url}/bye"],
            "backchannel_logout_uri": f"{self.url}/logout",
            **fields,
        }
        created = api("POST", "/oidc_clients", fields)
        self.id = created["client_id"]
        self.client = OAuth(self.flask).register(
            "postern",
            client_id=self.id,
            client_secret=created["client_secret"],
            server_metadata_url=f"{ISSUER}/.well-known/openid-configuration",
            client_kwargs={
                "scope": SCOPE,
                "code_challenge_method": "S256",
                "token_endpoint_auth_method": method,
            },
        )
        self.flask.get("/login")(self.login)
        self.flask.get("/callback")(self.callback)
        self.flask.get("/leave")(self.leave)
        self.flask.get("/bye")(self.bye)
        self.flask.post("/logout")(self.logout)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def login(self):
        return self.client.authorize_redirect(f"{self.url}/callback", **request.args)

    def callback(self):
        try:
            token = self.client.authorize_access_token()
            return jsonify(token=token, claims=token["userinfo"], shown=self.client.userinfo())
        except OAuthError as error:
            return jsonify(error=error.error), 403

    def leave(self):
        return self.client.logout_redirect(f"{self.url}/bye", **request.args)

    def bye(self):
        self.client.validate_logout_response()
        return "bye"

    def logout(self):
        """Back-Channel Logout 1.0, section 2.6."""
        keys = KeySet.import_key_set(self.client.fetch_jwk_set())
        token = jwt.decode(request.form["logout_token"], key=keys, algorithms=["RS256"])
        rules = {"iss": {"value": ISSUER}, "aud": {"value": self.id}, "jti": {"essential": True}}
        jwt.JWTClaimsRegistry(iat={"essential": True}, exp={"essential": True}, **rules).validate(token.claims)
        assert token.header["typ"] == "logout+jwt", token.header
        assert token.claims["events"] == {LOGOUT_EVENT: {}}, token.claims
        assert "nonce" not in token.claims, token.claims
        self.logouts.put(token.claims)
        return ""

    def log_in(self, person, **options):
        answer = person.open(f"{self.url}/login", params=options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def outcome(self, browser, **options):
        """The error that the application is told, or where the browser stands."""
        answer = browser.open(f"{self.url}/login", params=options)
        if answer.url.startswith(self.url):
            return answer.json().get("error", "logged in")
        return urlsplit(answer.url).path

    def refresh(self, token):
        """The new token, or the error."""
        with self.flask.app_context():
            metadata = self.client.load_server_metadata()
            with self.client._get_oauth_client(**metadata) as session:
                try:
                    return session.refresh_token(metadata["token_endpoint"], refresh_token=token)
                except OAuthError as error:
                    return error.error

    def hears(self, person, login):
        """The application is told that the session of this login has ended; earlier ones may be reported as well."""
        deadline = time.monotonic() + 30
        while True:
            claims = self.logouts.get(timeout=max(0.1, deadline - time.monotonic()))
            if claims["sid"] == login["claims"]["sid"]:
                return equal(claims["sub"], person.id)


def equal(actual, expected):
    assert actual == expected, f"{actual!r} instead of {expected!r}"


def judge_login(app, person):
    login = app.log_in(person)
    claims = login["claims"]
    equal([claims["sub"], claims["email"], claims["email_verified"]], [person.id, person.email, True])
    equal([claims["name"], claims["groups"], claims["amr"]], ["Judge", ["ops", "judges"], ["pop"]])
    assert claims["auth_time"] > 0 and claims["sid"] != "", claims
    shown = login["shown"]
    equal([shown["sub"], shown["email"], shown["groups"]], [person.id, person.email, ["ops", "judges"]])


def judge_refresh(app, person):
    first = app.log_in(person)["token"]["refresh_token"]
    second = app.refresh(first)
    assert second["refresh_token"] != first, "the refresh token is not rotated"
    with app.flask.app_context():
        equal(app.client.parse_id_token(second, nonce=None)["sub"], person.id)
    equal(app.refresh(first), "invalid_grant")
    equal(app.refresh(second["refresh_token"]), "invalid_grant")
    headers = {"Authorization": f"Bearer {second['access_token']}"}
    equal(person.session.get(f"{ISSUER}/userinfo", headers=headers).status_code, 401)


def judge_prompts(app, person):
    equal(app.outcome(Browser(), prompt="none"), "login_required")
    first = app.log_in(person)["claims"]
    proofs = person.proofs
    for options in [{"prompt": "none"}, {"max_age": "10000"}]:
        claims = app.log_in(person, **options)["claims"]
        equal([claims["auth_time"], claims["sid"]], [first["auth_time"], first["sid"]])
    equal(person.proofs, proofs)
    # auth_time has seconds.
    time.sleep(2.1)
    for options in [{"max_age": "1"}, {"prompt": "login"}]:
        claims = app.log_in(person, **options)["claims"]
        assert claims["auth_time"] > first["auth_time"], f"auth_time is old with {options}"
    equal(person.proofs, proofs + 2)
    equal(app.outcome(person, prompt="none", max_age="0"), "login_required")


def judge_logout(app, other, person):
    one, two = app.log_in(person), other.log_in(person)
    equal(one["claims"]["sid"], two["claims"]["sid"])
    page = person.open(f"{app.url}/leave", params={"id_token_hint": one["token"]["id_token"]})
    assert page.url.startswith(f"{ISSUER}/session/end"), page.url
    # The browser shows the application's page for the return, whose state authlib has checked.
    equal(person.leave(page).text, "bye")
    for application, login in [(app, one), (other, two)]:
        application.hears(person, login)
        equal(application.refresh(login["token"]["refresh_token"]), "invalid_grant")


def judge_ends(app, person):
    login = app.log_in(person)
    api("POST", f"/user_accounts/{person.id}/sign_out", {})
    app.hears(person, login)
    equal(app.refresh(login["token"]["refresh_token"]), "invalid_grant")

    login = app.log_in(person)
    for groups in [[], ["others"]]:
        api("PATCH", f"/oidc_clients/{app.id}", {"allow_groups": groups})
        equal(app.outcome(person), "access_denied")
        equal(app.refresh(login["token"]["refresh_token"]), "invalid_grant")
    api("PATCH", f"/oidc_clients/{app.id}", {"allow_groups": ["*"]})

    login = app.log_in(person)
    api("PATCH", f"/user_accounts/{person.id}", {"active": False})
    app.hears(person, login)
    equal(app.outcome(person), "/sign-in")
    equal(app.refresh(login["token"]["refresh_token"]), "invalid_grant")


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    person = Person("python@example.test", ["ops", "judges"])
    # The library's own authenticator does not verify the person.
    equal(person.register(SoftWebauthnDevice()).status_code, 403)
    equal(person.register().status_code, 303)
    equal(Person("late@example.test", [], invitation=person.invitation).register().status_code, 410)

    confidential = [
        Application(method, method, allow_groups=["judges"]) for method in ["client_secret_basic", "client_secret_post"]
    ]
    public = Application("public", "none", allow_groups=["*"], public=True)
    for app in [*confidential, public]:
        judge_login(app, person)
        judge_refresh(app, person)
    judge_prompts(confidential[0], person)
    judge_logout(confidential[0], public, person)
    judge_ends(confidential[0], person)
    print("done")


main()
