"""A person with a browser and a software authenticator, at the pages of Postern's identity host."""
import html
import os
import re
import socket
from base64 import urlsafe_b64decode, urlsafe_b64encode
from urllib.parse import parse_qs, urljoin, urlsplit

import requests
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.utils import sha256
from soft_webauthn import SoftWebauthnDevice

ISSUER = os.environ["POSTERN_ISSUER"]
VERIFIED = 0x04
# Postern's own authority alone is trusted.
os.environ["REQUESTS_CA_BUNDLE"] = os.environ["POSTERN_CA_FILE"]

resolve = socket.getaddrinfo
# Names below localhost are found at the edge.
socket.getaddrinfo = lambda host, *rest, **options: resolve(
    os.environ["POSTERN_EDGE_IP"] if str(host).endswith(".localhost") else host, *rest, **options
)


def api(method, path, body):
    headers = {"Authorization": f"Bearer {os.environ['POSTERN_API_KEY']}", "Service-Version": "2"}
    answer = requests.request(method, os.environ["POSTERN_API_URL"] + path, json=body, headers=headers, timeout=30)
    assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
    return answer.json() if answer.content else None


class VerifyingDevice(SoftWebauthnDevice):
    """Sets the flag "user verified", as devices with a PIN or a fingerprint do."""

    def create(self, options, origin):
        answer = super().create(options, origin)
        attestation = cbor.decode(answer["response"]["attestationObject"])
        attestation["authData"] = verified(attestation["authData"])
        answer["response"]["attestationObject"] = cbor.encode(attestation)
        return answer

    def get(self, options, origin):
        answer = super().get(options, origin)
        response = answer["response"]
        response["authenticatorData"] = verified(response["authenticatorData"])
        signed = response["authenticatorData"] + sha256(response["clientDataJSON"])
        response["signature"] = self.private_key.sign(signed, ec.ECDSA(hashes.SHA256()))
        return answer


def verified(data):
    return data[:32] + bytes([data[32] | VERIFIED]) + data[33:]


class Browser:
    def __init__(self):
        self.session = requests.Session()
        self.session.headers["Accept"] = "text/html"

    def open(self, address, params=None):
        return self.session.get(address, params=params, timeout=30)

    def submit(self, path, fields, **options):
        headers = {"Origin": ISSUER, "Sec-Fetch-Site": "same-origin"}
        return self.session.post(ISSUER + path, data=fields, headers=headers, timeout=30, **options)

    def options(self, path, fields):
        """As the WebAuthn API of a browser takes them: bytes where the server sent base64url."""
        answer = self.submit(path, fields)
        assert answer.status_code == 200, answer.text
        options = answer.json()["options"]
        options["challenge"] = unpacked(options["challenge"])
        if "user" in options:
            options["user"]["id"] = unpacked(options["user"]["id"])
        return {"publicKey": options}

    def leave(self, page):
        xsrf = html.unescape(re.search('name="xsrf" value="([^"]+)"', page.text)[1])
        return self.submit("/session/end/confirm", {"xsrf": xsrf, "logout": "yes"})


class Person(Browser):
    def __init__(self, email, groups, invitation=None):
        super().__init__()
        created = api("POST", "/user_accounts", {"email": email, "name": "Judge", "groups": groups})
        self.id, self.email = created["id"], email
        self.invitation = invitation or created["invitation_url"]
        self.device = VerifyingDevice()
        self.proofs = 0

    def register(self, device=None):
        page = self.session.get(self.invitation, timeout=30)
        if page.status_code != 200:
            return page
        fields = {"invite": parse_qs(urlsplit(self.invitation).query)["invite"][0]}
        options = self.options("/invitation/options", fields)
        answer = (device or self.device).create(options, ISSUER)
        return self.submit("/invitation/passkey", {**fields, "response": packed(answer)}, allow_redirects=False)

    def open(self, address, params=None):
        """Proves who they are where a proof is asked for."""
        page = super().open(address, params)
        if not page.url.startswith(f"{ISSUER}/sign-in"):
            return page
        query = f"?{urlsplit(page.url).query}"
        answer = self.device.get(self.options(f"/sign-in/options{query}", {}), ISSUER)
        proven = self.submit(f"/sign-in/passkey{query}", {"response": packed(answer)}, allow_redirects=False)
        if proven.status_code != 303:
            return page
        self.proofs += 1
        return super().open(urljoin(ISSUER, proven.headers["location"]))


def packed(answer):
    """As the script of a page sends what the browser's WebAuthn API gave it."""
    response = {name: base64url(value) for name, value in answer["response"].items()}
    identifier = base64url(answer["rawId"])
    credential = {"id": identifier, "rawId": identifier, "type": answer["type"], "response": response}
    return requests.compat.json.dumps(credential)


def base64url(data):
    return urlsafe_b64encode(data).decode().rstrip("=")


def unpacked(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
