import { signal } from '@preact/signals';
import { send, sessionHeaders } from './request.ts';
import { isAllowed } from './scopes.ts';

/** A change that the server reverts unless somebody confirms it in time. */
export interface PendingChange {
  readonly revision: number;
  /** By the clock of this browser. */
  readonly endsAtMs: number;
}

/** There is at most one in the whole installation. */
export const pendingChange = signal<PendingChange | null>(null);

/** Errors are not shown: this only repeats what the page "Changes" shows. */
export async function refreshPendingChange(): Promise<void> {
  if (!isAllowed('changes:read')) return;
  try {
    const response = await send('GET', '/changes?limit=1', { headers: sessionHeaders() });
    if (!response.ok) return;
    const { pending } = (await response.json()) as { pending?: { revision: number; confirm_by: string } | null };
    const serverMs = Date.parse(response.headers.get('date') ?? '');
    const aheadMs = Number.isNaN(serverMs) ? 0 : Date.now() - serverMs;
    const endsAtMs = Date.parse(pending?.confirm_by ?? '') + (Math.abs(aheadMs) < 2_000 ? 0 : aheadMs);
    const known = pendingChange.value;
    if (pending === null || pending === undefined) pendingChange.value = null;
    // The clocks are compared to the second: a countdown must not jump with every answer.
    else if (known?.revision !== pending.revision) pendingChange.value = { revision: pending.revision, endsAtMs };
  } catch {
    // The next one may get an answer.
  }
}
