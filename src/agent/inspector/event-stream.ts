import type { ServerResponse } from 'node:http';
import { closing, listenOnce } from '../../lib/guarded-listeners.ts';
import type { ExchangeStore } from './exchange-store.ts';
import { summaryOf } from './exchange-view.ts';
import type { KeptExchange } from './kept-exchange.ts';

/** A reader that falls this far behind is disconnected. A browser reconnects and reads the list again. */
const MAX_BEHIND_BYTES = 1_048_576;
const HEARTBEAT_MS = 15_000;

/** Server-sent events for the stored exchanges: `request` when one starts, is answered, or ends, and `cleared`. */
export function streamEvents(store: ExchangeStore, response: ServerResponse): void {
  const send = (text: string): void => {
    if (response.writableLength > MAX_BEHIND_BYTES) response.destroy();
    else response.write(text);
  };
  const listener = {
    onExchange: (exchange: KeptExchange): void => {
      send(`event: request\ndata: ${JSON.stringify(summaryOf(exchange))}\n\n`);
    },
    onCleared: (): void => send('event: cleared\ndata: {}\n\n'),
  };
  const heartbeat = setInterval(() => send(': still here\n\n'), HEARTBEAT_MS).unref();
  store.listen(listener);
  listenOnce(response, 'close', closing(response, 'inspector'), () => {
    clearInterval(heartbeat);
    store.unlisten(listener);
  });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send('retry: 1000\n\n');
}
