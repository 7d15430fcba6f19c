import { PosternApiError } from '../../client/postern-api-error.ts';
import type { Transport } from '../../client/transport.ts';

export interface ServerHealth {
  /** `ready`, `starting`, `draining`. */
  readonly status: string;
  /** Null: something else than a server answered. */
  readonly store: string | null;
}

interface HealthBody {
  readonly status?: string;
  readonly store?: { readonly status?: string };
}

/** A server that is not ready answers 503 with the same fields. */
export async function healthOf(transport: Transport): Promise<ServerHealth> {
  const text = await transport.send({ method: 'GET', path: '/healthz?verbose' }, { maxRetries: 0 }).then(
    (answer) => answer.text,
    (error: unknown) => {
      if (error instanceof PosternApiError) return error.text;
      throw error;
    },
  );
  const { status, store } = parsed(text);
  return { status: status ?? 'not ready', store: store?.status ?? null };
}

function parsed(text: string): HealthBody {
  try {
    return JSON.parse(text) as HealthBody;
  } catch {
    return {};
  }
}
