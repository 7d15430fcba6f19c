import { hash } from 'node:crypto';
import { parseListenAddress } from '../../kit/net/listen-address.ts';

/** What one line tells an agent that joins. */
export interface Invitation {
  /** `host:port` to dial. */
  readonly gateway: string;
  /**
   * SHA-256, in hex, of the CA certificate that signs the gateway's certificate. Null: an authority that the system
   * trusts does.
   */
  readonly caSha256: string | null;
  /** 128 random bits, in base64url. */
  readonly secret: string;
}

export type InvitationReading =
  | { readonly ok: true; readonly invitation: Invitation }
  | { readonly ok: false; readonly problem: string };

const PREFIX = 'pstn-';
const VERSION = 1;
const SECRET_BYTES = 16;
const HASH_BYTES = 32;
const CHECK_BYTES = 4;
const HEAD_BYTES = 2;
const MAX_LENGTH = 1024;
/** No quote, space or bracket: a shell passes the line on as it is, also with an IPv6 address in it. */
const FORM = /^pstn-([A-Za-z0-9_-]+)$/;

/**
 * `pstn-` and the base64url of: version, length of the hash (0 or 32), hash, secret, address, first bytes of the
 * SHA-256 of all before.
 */
export function invitationLine({ gateway, caSha256, secret }: Invitation): string {
  const digest = Buffer.from(caSha256 ?? '', 'hex');
  const body = Buffer.concat([
    Buffer.from([VERSION, digest.length]),
    digest,
    Buffer.from(secret, 'base64url'),
    Buffer.from(gateway, 'latin1'),
  ]);
  return `${PREFIX}${Buffer.concat([body, checkOf(body)]).toString('base64url')}`;
}

/** Accepts the whole command that `postern agents invite` prints, too: somebody pasted it. */
export function readInvitationLine(text: string): InvitationReading {
  const line = text.trim().replace(/^postern agent join\s+/, '');
  const [, encoded] = line.length > MAX_LENGTH ? [] : (FORM.exec(line) ?? []);
  if (line === '') return no('there is no invitation: copy the line that "postern agents invite" printed');
  if (encoded === undefined) {
    return no('the invitation is not of the form pstn-…: copy the line that "postern agents invite" printed');
  }
  const bytes = Buffer.from(encoded, 'base64url');
  const body = bytes.subarray(0, -CHECK_BYTES);
  if (bytes.length <= CHECK_BYTES || !checkOf(body).equals(bytes.subarray(-CHECK_BYTES))) {
    return no('the invitation is incomplete, or a character of it is wrong: copy the whole line again');
  }
  const [version, hashBytes = 0] = body;
  if (version !== VERSION) {
    return no(`the invitation has version ${version}, and this program knows version ${VERSION}: use the same release`);
  }
  const secretAt = HEAD_BYTES + hashBytes;
  const gateway = body.subarray(secretAt + SECRET_BYTES).toString('latin1');
  const port = parseListenAddress(gateway)?.port ?? 0;
  if ((hashBytes !== 0 && hashBytes !== HASH_BYTES) || port === 0) {
    return no('the invitation is malformed: ask for a new one');
  }
  const caSha256 = hashBytes === 0 ? null : body.subarray(HEAD_BYTES, secretAt).toString('hex');
  const secret = body.subarray(secretAt, secretAt + SECRET_BYTES).toString('base64url');
  return { ok: true, invitation: { gateway, caSha256, secret } };
}

function checkOf(body: Buffer): Buffer {
  return hash('sha256', body, 'buffer').subarray(0, CHECK_BYTES);
}

function no(problem: string): InvitationReading {
  return { ok: false, problem };
}
