import { constants, type KeyObject, type VerifyKeyObjectInput, verify } from 'node:crypto';
import { DER, DerCursor } from '../der-cursor.ts';
import type { ListSignature } from './revocation-list.ts';

interface Method {
  readonly keyTypes: readonly string[];
  /** Null: the key decides. */
  readonly digest: string | null;
  readonly isPss?: true;
}

const RSA = ['rsa'];
/** By the contents of the algorithm's OID, in hex. SHA-1 is missing on purpose: collisions can be made. */
const METHODS: Readonly<Record<string, Method>> = {
  '2a864886f70d01010b': { keyTypes: RSA, digest: 'sha256' },
  '2a864886f70d01010c': { keyTypes: RSA, digest: 'sha384' },
  '2a864886f70d01010d': { keyTypes: RSA, digest: 'sha512' },
  '2a8648ce3d040302': { keyTypes: ['ec'], digest: 'sha256' },
  '2a8648ce3d040303': { keyTypes: ['ec'], digest: 'sha384' },
  '2a8648ce3d040304': { keyTypes: ['ec'], digest: 'sha512' },
  '2b6570': { keyTypes: ['ed25519'], digest: null },
  '2b6571': { keyTypes: ['ed448'], digest: null },
};
const RSA_PSS = '2a864886f70d01010a';
const PSS_DIGESTS: Readonly<Record<string, string>> = {
  '608648016503040201': 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
};

/** Whether lists with this algorithm can be checked at all. */
export function isSupported({ algorithm }: ListSignature): boolean {
  return methodOf(algorithm) !== null;
}

/** Blocks for as long as it takes to hash the list: 3 ms for 5 MB. */
export function isSignedBy(signature: ListSignature, key: KeyObject): boolean {
  const input = verification(signature, key);
  if (input === null) return false;
  try {
    return verify(input.digest, signature.signed, input.key, signature.value);
  } catch {
    return false;
  }
}

/** The same on another thread. */
export async function isSignedByLater(signature: ListSignature, key: KeyObject): Promise<boolean> {
  const input = verification(signature, key);
  if (input === null) return false;
  return new Promise((resolve) => {
    try {
      verify(input.digest, signature.signed, input.key, signature.value, (error, isGood) =>
        resolve(error === null && isGood),
      );
    } catch {
      resolve(false);
    }
  });
}

function verification(
  { algorithm }: ListSignature,
  key: KeyObject,
): { readonly digest: string | null; readonly key: VerifyKeyObjectInput } | null {
  const method = methodOf(algorithm);
  if (method === null || !method.keyTypes.includes(key.asymmetricKeyType ?? '')) return null;
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
  return { digest: method.digest, key: { key, ...(method.isPss === true && padding) } };
}

function methodOf(algorithm: Buffer): Method | null {
  try {
    const fields = new DerCursor(algorithm).read(DER.sequence).inside();
    const oid = fields.read(DER.oid).contents.toString('hex');
    return oid === RSA_PSS ? pssMethod(fields) : (METHODS[oid] ?? null);
  } catch {
    return null;
  }
}

/** RFC 4055 §3.1: the digest is in the parameters; without them it is SHA-1. */
function pssMethod(fields: DerCursor): Method | null {
  const parameters = fields.read(DER.sequence).inside();
  const algorithm = parameters.read(0xa0).inside().read(DER.sequence).inside();
  const digest = PSS_DIGESTS[algorithm.read(DER.oid).contents.toString('hex')];
  return digest === undefined ? null : { keyTypes: ['rsa', 'rsa-pss'], digest, isPss: true };
}
