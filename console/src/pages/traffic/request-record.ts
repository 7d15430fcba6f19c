import type { Reference } from '../../schema/load-by-ids.ts';

export interface Decision {
  readonly module: string;
  readonly decision: string;
  /** Stable name of the reason. */
  readonly reason: string;
  /** The reason for people. */
  readonly text?: string;
  readonly rule?: string | null;
  readonly ms?: number;
}

export interface RequestRecord {
  readonly id: string;
  readonly at: string;
  readonly node?: string;
  /** null: the request could not be parsed. */
  readonly method: string | null;
  readonly host: string | null;
  readonly path: string | null;
  readonly status: number | null;
  readonly error_code?: string | null;
  readonly refused_by?: string | null;
  readonly edge: Reference | null;
  readonly route: Reference | null;
  readonly client_address: string;
  readonly user?: string | null;
  readonly user_kind?: string | null;
  readonly user_agent?: string | null;
  readonly duration_ms: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly decisions: readonly Decision[];
  readonly target?: string | null;
  readonly tunnel_node?: string | null;
  readonly timings?: Readonly<Record<string, number | null>>;
}

/** A record does not name the scheme; only plain HTTP is redirected. */
export function urlOf({ host, path, decisions }: RequestRecord): string {
  const isPlain = decisions.some(({ module, reason }) => module === 'edge' && reason === 'redirect_to_https');
  return `${isPlain ? 'http' : 'https'}://${host ?? ''}${path ?? '/'}`;
}

export function requestText(record: RequestRecord): string {
  const { method, host, path } = record;
  if (method === null) return host === null ? 'a request that could not be parsed' : `${host}: ${refusalText(record)}`;
  return `${method} ${host ?? ''}${path ?? ''}`;
}

const BY_EDGE = 'edge:';

/** Reasons of the edge itself are words. Codes all begin alike; the request's own page has the whole one. */
export function refusalText({ refused_by: refusedBy, error_code: code }: RequestRecord): string {
  if (refusedBy?.startsWith(BY_EDGE) === true) return refusedBy.slice(BY_EDGE.length).replaceAll('_', ' ');
  return (code ?? '').replace(/^ERR_POSTERN_/, '');
}
