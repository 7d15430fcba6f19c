import { type ClientOptions, WebSocket } from 'ws';
import type { Browser, LoginWorld } from './login-world.ts';

/** A WebSocket through the edge with a browser's cookies. */
export function openWebSocket(world: LoginWorld, browser: Browser, host: string, path = '/'): Promise<WebSocket> {
  const origin = world.origin(host);
  const cookie = browser.jar.header(origin);
  const options: ClientOptions & { readonly servername: string } = {
    servername: host,
    // With a moved clock the edge issues certificates of another day.
    rejectUnauthorized: false,
    headers: { host: new URL(origin).host, ...(cookie !== undefined && { cookie }) },
  };
  const socket = new WebSocket(`wss://127.0.0.1:${world.edge.port}${path}`, options);
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(socket));
    socket.once('error', reject);
  });
}
