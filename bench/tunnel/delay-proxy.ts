import { connect, createServer, type Socket } from 'node:net';

/**
 * A long line: input is emitted `oneWayMs` later, in order. With a width it carries that many bytes per millisecond
 * each way, and accepts what it can hold; without one only its ends limit it. Loopback; runs as its own process.
 */
const target = Number(process.env['BENCH_TARGET']);
const oneWayMs = Number(process.env['BENCH_ONE_WAY_MS']);
const bytesPerMs = Number(process.env['BENCH_BYTES_PER_MS'] ?? 'Infinity');
/** Capacity of the buffers at the entrance of the line, like a router's. */
const QUEUE_MS = 50;

const server = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
  const far = connect({ port: target, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  for (const socket of [near, far]) socket.on('error', () => {});
  carry(near, far);
  carry(far, near);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ addresses: { api: `127.0.0.1:${port}` }, msg: 'ready' })}\n`);
});
process.once('SIGTERM', () => process.exit());

function carry(from: Socket, to: Socket): void {
  if (oneWayMs === 0 && bytesPerMs === Number.POSITIVE_INFINITY) {
    from.pipe(to);
    from.once('close', () => to.destroySoon());
    return;
  }
  const waiting: { readonly dueMs: number; readonly chunk: Buffer | null }[] = [];
  let isScheduled = false;
  /** When the last accepted byte has entered the line. */
  let enteredMs = 0;
  const deliver = (): void => {
    isScheduled = false;
    to.cork();
    while (waiting.length > 0 && (waiting[0]?.dueMs ?? 0) <= performance.now()) {
      const chunk = waiting.shift()?.chunk ?? null;
      if (chunk === null) to.end();
      else if (to.writable) to.write(chunk);
    }
    to.uncork();
    schedule();
  };
  const schedule = (): void => {
    const [next] = waiting;
    if (next === undefined || isScheduled) return;
    isScheduled = true;
    setTimeout(deliver, Math.max(1, next.dueMs - performance.now()));
  };
  const take = (chunk: Buffer | null): void => {
    const now = performance.now();
    enteredMs = Math.max(now, enteredMs) + (chunk?.length ?? 0) / bytesPerMs;
    waiting.push({ dueMs: enteredMs + oneWayMs, chunk });
    if (enteredMs - now > QUEUE_MS) {
      from.pause();
      setTimeout(() => from.resume(), enteredMs - now - QUEUE_MS / 2);
    }
    schedule();
  };
  from.on('data', take);
  from.once('end', () => take(null));
  from.once('close', () => setTimeout(() => to.destroySoon(), oneWayMs + 10));
}
