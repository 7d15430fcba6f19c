import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { reportBug } from '../lib/bug-report.ts';
import { listen, listenOnce } from '../lib/guarded-listeners.ts';
import { Agent as HttpAgent } from '../lib/http/node-http.ts';

/** From the lookup of the name to the end of the response. */
const MAX_MS = 10_000;
/** A collector answers with a few bytes (OTLP, "partial success"). */
const MAX_BYTES = 65_536;

/**
 * One connection per batch, with limits that the SDK lacks: its time limit begins with the connection and ends with any byte, and
 * it parses responses of 4 MiB.
 */
export function collectorAgent(protocol: string, maxMs = MAX_MS): Agent {
  const agent = protocol === 'https:' ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, onConnect) => {
    const socket = connect(options, onConnect);
    if (socket !== null && socket !== undefined) limit(socket, maxMs);
    return socket;
  };
  return agent;
}

function limit(socket: Duplex, maxMs: number): void {
  const owner = {
    contain: (error: unknown) => {
      reportBug(error, { part: 'collector' });
      socket.destroy();
    },
  };
  const timer = setTimeout(() => socket.destroy(new Error('the collector took too long')), maxMs).unref();
  let bytes = 0;
  listenOnce(socket, 'close', owner, () => clearTimeout(timer));
  listen(socket, 'data', owner, (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) socket.destroy(new Error('the collector sent too long a response'));
  });
}
