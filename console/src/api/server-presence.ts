import { signal } from '@preact/signals';
import { refusalOf, send, sessionHeaders } from './request.ts';

/** When the server stopped answering, in milliseconds; null: it answers. */
export const goneSince = signal<number | null>(null);

/**
 * The server sends a pulse every second. After a silence, one attempt decides: both together take less than three
 * seconds, also when packets no longer arrive.
 */
const SILENCE_MS = 1_800;
const ATTEMPT_MS = 1_000;
/** A page that opens asks for much at once, and its first attempt waits behind that. */
const FIRST_ATTEMPT_MS = 5_000;
const RETRY_MS = 1_000;

/** Follows the pulse of the server until it is stopped, while somebody looks at the page. */
export function followServer(): () => void {
  const stop = new AbortController();
  void follow(stop.signal);
  return () => stop.abort();
}

async function follow(stop: AbortSignal): Promise<void> {
  let attemptMs = FIRST_ATTEMPT_MS;
  while (!stop.aborted) {
    await untilVisible(stop);
    if (stop.aborted) return;
    const outcome = await listen(stop, attemptMs);
    attemptMs = ATTEMPT_MS;
    if (outcome === 'unavailable') return;
    if (outcome === 'gone') goneSince.value ??= Date.now();
    // A stream that ended is opened again at once: that shows whether the server is still there.
    if (outcome !== 'ended') await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** `ended`: it was there. `busy`: it answers, and has no room for the stream. */
async function listen(stop: AbortSignal, attemptMs: number): Promise<'ended' | 'gone' | 'busy' | 'unavailable'> {
  const attempt = new AbortController();
  const abort = (): void => attempt.abort();
  stop.addEventListener('abort', abort);
  const hide = (): void => {
    if (document.hidden) attempt.abort();
  };
  document.addEventListener('visibilitychange', hide);
  const timer = setTimeout(abort, attemptMs);
  try {
    const response = await send('GET', '/live?topics=pulse', { headers: sessionHeaders(), signal: attempt.signal });
    clearTimeout(timer);
    if (!response.ok) return outcomeOf((await refusalOf(response)).status);
    goneSince.value = null;
    await untilSilence(response);
    return 'ended';
  } catch {
    return stop.aborted || document.hidden ? 'ended' : 'gone';
  } finally {
    clearTimeout(timer);
    abort();
    stop.removeEventListener('abort', abort);
    document.removeEventListener('visibilitychange', hide);
  }
}

function outcomeOf(status: number): 'gone' | 'busy' | 'unavailable' {
  if (status === 429) {
    goneSince.value = null;
    return 'busy';
  }
  // In front of the server, an edge or a proxy says that it is gone.
  return status >= 500 ? 'gone' : 'unavailable';
}

async function untilSilence(response: Response): Promise<void> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const silence = new Promise<true>((resolve) => {
        timer = setTimeout(() => resolve(true), SILENCE_MS);
      });
      const isOver = await Promise.race([
        reader.read().then(
          ({ done }) => done,
          () => true,
        ),
        silence,
      ]);
      clearTimeout(timer);
      if (isOver) return;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

function untilVisible(stop: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !stop.aborted) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    stop.addEventListener('abort', look);
  });
}
