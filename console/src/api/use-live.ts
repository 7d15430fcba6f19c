import { useEffect, useRef, useState } from 'preact/hooks';
import { refusalOf, send, sessionHeaders } from './request.ts';

export interface LiveMessage {
  readonly topic: string;
  readonly at?: string;
  readonly data?: unknown;
}

export type LiveState = 'connecting' | 'live' | 'waiting' | 'unavailable' | 'paused';

const RETRY_MS = 2_000;
const MAX_RETRY_MS = 30_000;
/** The server sends a ping every 15 s: silence for longer means that the connection is dead. */
const SILENCE_MS = 40_000;

/** Follows GET /live by streaming fetch, since EventSource cannot send the session's token. An empty query pauses. */
export function useLive(query: string, onMessage: (message: LiveMessage) => void): LiveState {
  const [state, setState] = useState<LiveState>('connecting');
  const listener = useRef(onMessage);
  listener.current = onMessage;
  useEffect(() => {
    if (query === '') {
      setState('paused');
      return undefined;
    }
    const controller = new AbortController();
    void follow(query, controller.signal, (message) => listener.current(message), setState);
    return () => controller.abort();
  }, [query]);
  return state;
}

async function follow(
  query: string,
  stop: AbortSignal,
  onMessage: (message: LiveMessage) => void,
  setState: (state: LiveState) => void,
): Promise<void> {
  let retryMs = RETRY_MS;
  while (!stop.aborted) {
    setState('connecting');
    try {
      const response = await send('GET', `/live?${query}`, { headers: sessionHeaders(), signal: stop });
      if (!response.ok) {
        const refusal = await refusalOf(response);
        if (refusal.status >= 400 && refusal.status < 500 && refusal.status !== 429) return setState('unavailable');
        throw refusal;
      }
      setState('live');
      retryMs = RETRY_MS;
      await readLines(response, onMessage);
    } catch {
      if (stop.aborted) return;
    }
    if (stop.aborted) return;
    setState('waiting');
    const waitMs = retryMs;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  }
}

async function readLines(response: Response, onMessage: (message: LiveMessage) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = '';
  for (;;) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('silence')), SILENCE_MS);
    });
    try {
      const { done, value } = await Promise.race([reader.read(), silence]);
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.trim() !== '') onMessage(JSON.parse(line) as LiveMessage);
    } catch (error) {
      void reader.cancel().catch(() => {});
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}
