import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:tls';

/**
 * Opens connections, makes one request on each, and then stays idle: `idle-client.ts <port> <host> <h1|h2> <count>`.
 * Prints a line when all are open, and ends on SIGTERM.
 */
const [port = '', host = '', protocol = '', count = ''] = process.argv.slice(2);
const OPENED_AT_ONCE = 50;
// The bench's own loopback servers; their names are not what is measured.
const options = { host: '127.0.0.1', port: Number(port), servername: host, rejectUnauthorized: false };

for (let open = 0; open < Number(count); open += OPENED_AT_ONCE) {
  const now = Math.min(OPENED_AT_ONCE, Number(count) - open);
  await Promise.all(Array.from({ length: now }, protocol === 'h2' ? overHttp2 : overHttp1));
}
process.stdout.write(`${JSON.stringify({ addresses: { api: '127.0.0.1:0' }, msg: 'ready' })}\n`);
process.once('SIGTERM', () => process.exit());

function overHttp1(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...options, ALPNProtocols: ['http/1.1'] });
    socket.once('secureConnect', () => socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
    socket.once('data', () => resolve()).resume();
    socket.on('error', reject);
    socket.once('close', lost);
  });
}

function overHttp2(): Promise<void> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://${host}`, {
      createConnection: () => connect({ ...options, ALPNProtocols: ['h2'] }),
    });
    session.on('error', reject);
    session.once('close', lost);
    const request = session.request({ ':path': '/', ':authority': host });
    request.resume().once('end', () => resolve());
  });
}

/** Idle connections closed by the server would be counted as cheap. */
function lost(): void {
  process.stderr.write('a connection was closed by the server\n');
  process.exit(1);
}
