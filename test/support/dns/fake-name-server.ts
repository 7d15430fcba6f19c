import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Cleanup } from '../cleanup.ts';

export interface FakeNameServer {
  readonly address: string;
  readonly port: number;
  /** TXT values by name. Null: it does not answer. */
  values: Record<string, readonly string[]> | null;
  /** Response code, such as 5 for REFUSED. */
  code: number;
  isAuthoritative: boolean;
  questions: number;
}

/** A name server with TXT records on this machine, which a test changes while it runs. */
export async function startFakeNameServer(test: Cleanup): Promise<FakeNameServer> {
  const socket = createSocket('udp4');
  const state = { values: {} as FakeNameServer['values'], code: 0, isAuthoritative: true, questions: 0 };
  socket.on('message', (request, { port, address }) => {
    state.questions += 1;
    if (state.values === null) return;
    const { name, end } = nameIn(request);
    const values = state.values[name] ?? [];
    const head = Buffer.from(request.subarray(0, end));
    head.writeUInt16BE(0x8000 | (state.isAuthoritative ? 0x0400 : 0) | state.code, 2);
    head.writeUInt16BE(values.length, 6);
    const answers = values.map((value) =>
      Buffer.concat([
        Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, value.length + 1, value.length]),
        Buffer.from(value),
      ]),
    );
    socket.send(Buffer.concat([head, ...answers]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  test.after(async () => {
    socket.close();
    await once(socket, 'close');
  });
  return Object.assign(state, socket.address());
}

function nameIn(request: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let offset = 12;
  for (let length = request[offset] ?? 0; length > 0; length = request[offset] ?? 0) {
    labels.push(request.toString('latin1', offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  return { name: labels.join('.'), end: offset + 5 };
}
