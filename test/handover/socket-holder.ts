import { spawnSync } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { descriptorOf } from '../../src/app/main/sockets/listening-sockets.ts';

/**
 * Runs as its own process, in the role of systemd: holds a listening socket and starts the program with it, twice. It
 * accepts nothing itself, because it waits without its event loop.
 */
const [, , pauseMs, ...command] = process.argv;
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`);
  for (const round of [1, 2]) {
    spawnSync('sh', ['-c', 'export LISTEN_PID=$$; exec "$@"', 'sh', ...command], {
      env: { PATH: process.env['PATH'], LISTEN_FDS: '1', LISTEN_FDNAMES: 'api' },
      stdio: ['ignore', 'ignore', 'inherit', descriptorOf(server) ?? 0],
    });
    process.stdout.write(`ended ${round}\n`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(pauseMs));
  }
  process.exit(0);
});
