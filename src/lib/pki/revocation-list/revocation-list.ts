import type { ListScope } from './list-extensions.ts';
import type { SerialTable } from './serial-table.ts';

/** One certificate revocation list (RFC 5280 §5), parsed. Whether its signature holds depends on the issuer's key. */
export interface RevocationList extends ListScope {
  /** The issuer's name in DER: the same bytes as the subject of its certificate. */
  readonly issuer: Buffer;
  readonly thisUpdateMs: number;
  readonly nextUpdateMs: number;
  readonly number: bigint | null;
  /** A delta list has only the changes since another list. */
  readonly isDelta: boolean;
  readonly serials: Pick<SerialTable, 'has' | 'count'>;
  readonly signature: ListSignature;
  /** All of it, and the SHA-256 of that. */
  readonly der: Buffer;
  readonly digest: string;
}

export interface ListSignature {
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
