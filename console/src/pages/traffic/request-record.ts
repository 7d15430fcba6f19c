import type { Reference } from '../../components/ref-link.tsx';

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

export function requestText({ method, host, path }: RequestRecord): string {
  return method === null ? 'a request that could not be parsed' : `${method} ${host ?? ''}${path ?? ''}`;
}
