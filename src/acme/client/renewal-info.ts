import { isJsonObject } from '../../lib/json.ts';
import { AcmeFailure } from './acme-failure.ts';
import type { AcmeServer } from './acme-server.ts';

/** When the server wants the certificate to be renewed (RFC 9773 §4.2). */
export interface RenewalWindow {
  readonly startMs: number;
  readonly endMs: number;
  /** When to ask again. */
  readonly retryAtMs: number | null;
}

/** Null: the server has no renewal information. */
export async function renewalWindow(
  server: AcmeServer,
  renewalId: string,
  signal: AbortSignal,
): Promise<RenewalWindow | null> {
  const { renewalInfo } = await server.directory();
  if (renewalInfo === null) return null;
  const url = `${renewalInfo.replace(/\/$/, '')}/${renewalId}`;
  const { json, retryAtMs } = await server.get(url, 'did not return renewal information', signal);
  const window = isJsonObject(json) ? json['suggestedWindow'] : null;
  const { start, end } = isJsonObject(window) ? window : {};
  const startMs = typeof start === 'string' ? Date.parse(start) : Number.NaN;
  const endMs = typeof end === 'string' ? Date.parse(end) : Number.NaN;
  // An inverted window is to be treated as no information (RFC 9773 §4.2).
  if (!(endMs > startMs)) {
    throw new AcmeFailure('ERR_POSTERN_ACME_RESPONSE', `${server.host} sent no usable renewal window`);
  }
  return { startMs, endMs, retryAtMs };
}
