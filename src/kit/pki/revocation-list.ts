import { constants, type KeyObject, randomInt, type VerifyKeyObjectInput, verify } from 'node:crypto';
import { ListProblem, type ListScope } from './certificate-extensions.ts';
import { DER, DerCursor } from './der-cursor.ts';

/** One certificate revocation list (RFC 5280 §5), parsed. Whether its signature holds depends on the issuer's key. */
export interface RevocationList extends ListScope {
  /** The issuer's name in DER: the same bytes as the subject of its certificate. */
  readonly issuer: Buffer;
  readonly thisUpdateMs: number;
  readonly nextUpdateMs: number;
  readonly number: bigint | null;
  /** A delta list has only the changes since another list. */
  readonly isDelta: boolean;
  readonly serials: Pick<SerialTable, 'has' | 'count' | 'isWithin'>;
  readonly signature: ListSignature;
  /** All of it, and the SHA-256 of that. */
  readonly der: Buffer;
  readonly digest: string;
}

interface ListSignature {
  /** The signed bytes. */
  readonly signed: Buffer;
  /** AlgorithmIdentifier in DER. */
  readonly algorithm: Buffer;
  readonly value: Buffer;
}

/** Clocks of authorities run ahead of ours by seconds; a list from the near future is only newer than expected. */
const CLOCK_SKEW_MS = 5 * 60_000;

export type ListState = 'current' | 'stale' | 'not_yet_valid';

export function stateOf(list: Pick<RevocationList, 'thisUpdateMs' | 'nextUpdateMs'>, nowMs: number): ListState {
  if (list.thisUpdateMs > nowMs + CLOCK_SKEW_MS) return 'not_yet_valid';
  return nowMs < list.nextUpdateMs ? 'current' : 'stale';
}

/** Whether `list` came after `other`, of the same issuer. */
export function isNewer(list: RevocationList, other: RevocationList): boolean {
  if (list.thisUpdateMs !== other.thisUpdateMs) return list.thisUpdateMs > other.thisUpdateMs;
  return (list.number ?? 0n) > (other.number ?? 0n);
}

/** Differs per process: nobody can choose serial numbers that all fall into one place. */
const SEED = randomInt(2 ** 32);
const EMPTY = 0;
/** Half of the table is empty, so that honest lists need a few dozen at most. */
const MAX_PROBES = 4096;

/**
 * The serial numbers of a list, found in constant time. It holds offsets into the list's own bytes: 200,000 entries
 * take 2 MB beside them, where a Set of texts would take 20 MB.
 */
export class SerialTable {
  readonly #bytes: Buffer;
  #offsets = new Uint32Array(1024);
  #count = 0;
  #slots = new Uint32Array(0);

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get count(): number {
    return this.#count;
  }

  /** `offset` is that of an INTEGER element with a short length, and never 0. */
  add(offset: number): void {
    if (this.#count === this.#offsets.length) {
      const longer = new Uint32Array(this.#offsets.length * 2);
      longer.set(this.#offsets);
      this.#offsets = longer;
    }
    this.#offsets[this.#count] = offset;
    this.#count += 1;
  }

  /** Makes it searchable, in steps: yields after every `step` entries. */
  *build(step: number): Generator<void, void> {
    const size = 2 ** Math.ceil(Math.log2(Math.max(this.#count, 1) * 2));
    const slots = new Uint32Array(size);
    for (let at = 0; at < this.#count; at += 1) {
      if (at % step === step - 1) yield;
      const offset = this.#offsets[at] as number;
      const length = this.#bytes[offset + 1] as number;
      let slot = hashOf(this.#bytes, offset + 2, length) & (size - 1);
      for (let probes = 0; slots[slot] !== EMPTY; probes += 1) {
        // A number that is repeated would make every further one of its kind slower.
        if (this.#isSame(slots[slot] as number, offset, length)) break;
        if (probes > MAX_PROBES) throw new ListProblem('has serial numbers that were chosen to collide');
        slot = (slot + 1) & (size - 1);
      }
      slots[slot] = offset;
    }
    this.#slots = slots;
    this.#offsets = new Uint32Array(0);
  }

  #isSame(known: number, offset: number, length: number): boolean {
    const bytes = this.#bytes;
    return (
      bytes[known + 1] === length &&
      bytes.compare(bytes, known + 2, known + 2 + length, offset + 2, offset + 2 + length) === 0
    );
  }

  /** Whether the other one has all of these. */
  isWithin(other: Pick<SerialTable, 'has'>): boolean {
    for (const offset of this.#slots) {
      if (offset === EMPTY) continue;
      const from = offset + 2;
      if (!other.has(this.#bytes.subarray(from, from + (this.#bytes[offset + 1] as number)))) return false;
    }
    return true;
  }

  /** `serial` is the contents of a certificate's INTEGER, which DER encodes in one way only. */
  has(serial: Buffer): boolean {
    const mask = this.#slots.length - 1;
    let slot = hashOf(serial, 0, serial.length) & mask;
    for (;;) {
      const offset = this.#slots[slot] ?? EMPTY;
      if (offset === EMPTY) return false;
      const from = offset + 2;
      const length = this.#bytes[offset + 1] as number;
      if (length === serial.length && serial.compare(this.#bytes, from, from + length) === 0) return true;
      slot = (slot + 1) & mask;
    }
  }
}

/** FNV-1a from a random start, then mixed, because a mask uses only the low bits. */
function hashOf(bytes: Buffer, from: number, length: number): number {
  let hash = SEED;
  for (let at = from; at < from + length; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 12)) >>> 0;
}

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
