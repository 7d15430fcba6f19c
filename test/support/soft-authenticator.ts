import {
  createHash,
  createPrivateKey,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import { isoCBOR } from '@simplewebauthn/server/helpers';

const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

/** What a hostile or broken authenticator, or a browser on another page, does differently. */
export interface Deviations {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly crossOrigin?: boolean;
  readonly topOrigin?: string;
  readonly isUserVerified?: boolean;
  readonly type?: string;
  readonly signCount?: number;
  readonly userHandle?: string;
  readonly isStoredOnDevice?: boolean;
  /** A new passkey takes the id of an earlier one. */
  readonly credentialId?: string;
}

interface Credential {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly cosePublicKey: Uint8Array;
  readonly userHandle: string;
}

/** A passkey that can be stored, to be used later. */
export interface ExportedPasskey {
  readonly id: string;
  readonly privateKeyPem: string;
  readonly userHandle: string;
}

/** An authenticator without a device, together with the browser around it. It keeps one passkey. */
export class SoftAuthenticator {
  readonly #origin: string;
  /** 0: it does not count, like those of phones. */
  #signCount: number;
  #credential: Credential | null = null;

  constructor(origin: string, { counts = false }: { readonly counts?: boolean } = {}) {
    this.#origin = origin;
    this.#signCount = counts ? 1 : 0;
  }

  /** With a passkey of an earlier one. */
  static holding(origin: string, { id, privateKeyPem, userHandle }: ExportedPasskey): SoftAuthenticator {
    const device = new SoftAuthenticator(origin);
    // The public key is only sent at the registration.
    const cosePublicKey = new Uint8Array();
    device.#credential = { id, privateKey: createPrivateKey(privateKeyPem), cosePublicKey, userHandle };
    return device;
  }

  exported(): ExportedPasskey {
    const { id, privateKey, userHandle } = this.#kept();
    return { id, privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), userHandle };
  }

  get credentialId(): string {
    return this.#kept().id;
  }

  /** With the same key and counter: what an attacker gets who copies the device. */
  copy(): SoftAuthenticator {
    const copy = new SoftAuthenticator(this.#origin);
    copy.#signCount = this.#signCount;
    copy.#credential = this.#credential;
    return copy;
  }

  create(options: PublicKeyCredentialCreationOptionsJSON, different: Deviations = {}): RegistrationResponseJSON {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const cosePublicKey = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]),
    );
    const id =
      different.credentialId === undefined ? randomBytes(32) : Buffer.from(different.credentialId, 'base64url');
    this.#credential = { id: id.toString('base64url'), privateKey, cosePublicKey, userHandle: options.user.id };
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const authData = Buffer.concat([
      this.#data(options.rp.id ?? '', HAS_CREDENTIAL, different),
      Buffer.alloc(16),
      length,
      id,
      cosePublicKey,
    ]);
    const attestation = new Map<string, string | Uint8Array | Map<string, never>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', authData],
    ]);
    return {
      ...this.#identified(),
      response: {
        clientDataJSON: this.#clientData('webauthn.create', options.challenge, different).toString('base64url'),
        attestationObject: Buffer.from(isoCBOR.encode(attestation)).toString('base64url'),
        transports: ['internal'],
      },
      clientExtensionResults: { credProps: { rk: different.isStoredOnDevice ?? true } },
    };
  }

  get(options: PublicKeyCredentialRequestOptionsJSON, different: Deviations = {}): AuthenticationResponseJSON {
    const { privateKey, userHandle } = this.#kept();
    if (this.#signCount > 0) this.#signCount += 1;
    const clientData = this.#clientData('webauthn.get', options.challenge, different);
    const authenticatorData = this.#data(options.rpId ?? '', 0, different);
    const signature = createSign('sha256')
      .update(Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()]))
      .sign(privateKey);
    return {
      ...this.#identified(),
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: different.userHandle ?? userHandle,
      },
      clientExtensionResults: {},
    };
  }

  #kept(): Credential {
    if (this.#credential === null) throw new Error('the authenticator has no passkey');
    return this.#credential;
  }

  #identified(): Pick<AuthenticationResponseJSON, 'id' | 'rawId' | 'type'> {
    const { id } = this.#kept();
    return { id, rawId: id, type: 'public-key' };
  }

  #clientData(type: string, challenge: string, different: Deviations): Buffer {
    const { origin = this.#origin, crossOrigin = false, topOrigin } = different;
    return Buffer.from(
      JSON.stringify({
        type: different.type ?? type,
        challenge: different.challenge ?? challenge,
        origin,
        crossOrigin,
        ...(topOrigin !== undefined && { topOrigin }),
      }),
    );
  }

  #data(rpId: string, flags: number, { rpId: other, isUserVerified = true, signCount }: Deviations): Buffer {
    const rest = Buffer.alloc(5);
    rest.writeUInt8(flags | PRESENT | (isUserVerified ? VERIFIED : 0));
    rest.writeUInt32BE(signCount ?? this.#signCount, 1);
    return Buffer.concat([
      createHash('sha256')
        .update(other ?? rpId)
        .digest(),
      rest,
    ]);
  }
}
