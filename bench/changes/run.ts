import { spawn } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuSeconds, rssMiB } from '../support/process-cost.ts';
import { API_KEY, type Program, startPosternServer } from '../support/start-program.ts';
import { helpIfRequested } from '../support/usage.ts';

helpIfRequested({
  script: 'bench:changes',
  about: 'Applies, plans and exports a configuration file with many edges: time and memory of command and server.',
});
const EDGES = process.argv.includes('--quick') ? 500 : 10_000;
const POSTERN = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url));
const PROBE_MS = 20;

process.stdout.write(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}, ${EDGES} edges\n`);
const folder = await mkdtemp(join(tmpdir(), 'postern-bench-changes-'));
const server = await startPosternServer(join(folder, 'data'), { POSTERN_API_RATE_LIMIT: '0' });
try {
  const file = join(folder, 'postern-sites.yaml');
  await writeFile(file, configuration());
  process.stdout.write(`file: ${((await stat(file)).size / 1024 / 1024).toFixed(1)} MiB\n`);
  await measure('validate', ['validate', '-f', file]);
  await measure('plan of a new configuration', ['plan', '-f', file], 4);
  await measure('apply', ['apply', '-f', file, '--yes']);
  await measure('plan of nothing', ['plan', '-f', file]);
  await measure('export', ['export', '-f', join(folder, 'exported.yaml')]);
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

function configuration(): string {
  const edges = Array.from(
    { length: EDGES },
    (_, at) =>
      `  app-${at}.example.com:\n    routes:\n      /:\n        compression: {}\n        backend: {backend: backend-${at % 100}}\n`,
  );
  const backends = Array.from(
    { length: 100 },
    (_, at) => `  backend-${at}: {kind: static, address: "127.0.0.1:${3000 + at}"}\n`,
  );
  return `version: 1\nowner: bench\nhttps_edges:\n${edges.join('')}backends:\n${backends.join('')}`;
}

async function measure(name: string, args: readonly string[], expected = 0): Promise<void> {
  const probe = probeServer(server);
  const [startedAt, cpuBefore] = [performance.now(), cpuSeconds(server.pid)];
  const { code, peakMiB } = await run(args);
  const seconds = (performance.now() - startedAt) / 1000;
  const slowestMs = await probe.stop();
  if (code !== expected) throw new Error(`${name} ended with ${code}`);
  const ofServer = `${(cpuSeconds(server.pid) - cpuBefore).toFixed(1)} s CPU, ${rssMiB(server.pid).toFixed(0)} MiB`;
  process.stdout.write(
    `${name}: ${seconds.toFixed(1)} s, command ${peakMiB.toFixed(0)} MiB, server ${ofServer}, slowest other answer ${slowestMs.toFixed(0)} ms\n`,
  );
}

function run(args: readonly string[]): Promise<{ code: number | null; peakMiB: number }> {
  const env = { ...process.env, POSTERN_CLI_API_URL: `http://127.0.0.1:${server.port}`, POSTERN_CLI_API_KEY: API_KEY };
  const child = spawn(process.execPath, [POSTERN, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  let peakMiB = 0;
  const timer = setInterval(() => {
    try {
      peakMiB = Math.max(peakMiB, rssMiB(child.pid ?? 0) || 0);
    } catch {
      // The process has just ended.
    }
  }, 50);
  return new Promise((resolve) => {
    child.once('exit', (code) => {
      clearInterval(timer);
      resolve({ code, peakMiB });
    });
  });
}

/** Asks the server for its health all the time: how long others wait meanwhile. */
function probeServer({ port }: Program): { stop(): Promise<number> } {
  let isStopped = false;
  let slowestMs = 0;
  const ended = (async () => {
    while (!isStopped) {
      const askedAt = performance.now();
      await (await fetch(`http://127.0.0.1:${port}/healthz`)).text();
      slowestMs = Math.max(slowestMs, performance.now() - askedAt);
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    }
  })();
  return {
    stop: async () => {
      isStopped = true;
      await ended;
      return slowestMs;
    },
  };
}
