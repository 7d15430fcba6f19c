import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Cleanup } from '../support/cleanup.ts';
import { LAUNCHER, type PosternProcess, type ReadyLine, startServerProcess } from '../support/server-process.ts';
import { projectRoot, readPage, type ShellBlock, shellBlocks } from './markdown.ts';
import { Terminal } from './terminal.ts';

/** How a block is treated: it runs in the page's terminal, in its own terminal, or not, for the given reason. */
export type Treatment =
  | { readonly run: RegExp }
  | { readonly background: RegExp; readonly replacesPrevious?: boolean }
  | { readonly service: ServicePort }
  | { readonly custom: (block: ShellBlock, page: PageRun) => Promise<void> }
  | { readonly skip: string };

export interface PageRun {
  readonly reader: Reader;
  readonly terminal: Terminal;
}

/** Ports named in pages; the reader uses free ones instead. */
const SERVICE_PORTS = ['3000', '3001', '3002', '7090'] as const;
export type ServicePort = (typeof SERVICE_PORTS)[number];

const COMPILED = process.env['NODE_COMPILE_CACHE'];

/** A reader who follows the documentation in one checkout, against one server. */
export class Reader {
  readonly folder: string;
  readonly server: PosternProcess;
  readonly ready: ReadyLine;
  readonly env: Readonly<Record<string, string>>;
  readonly #ports: ReadonlyMap<string, string>;

  private constructor(folder: string, server: PosternProcess, ready: ReadyLine, ports: ReadonlyMap<string, string>) {
    this.folder = folder;
    this.server = server;
    this.ready = ready;
    this.#ports = ports;
    const { tunnel } = ready.addresses as unknown as { tunnel: string };
    this.env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
      ...(COMPILED !== undefined && { NODE_COMPILE_CACHE: COMPILED }),
      POSTERN_CLI_API_URL: ready.base_url,
      POSTERN_SERVER_ADDR: tunnel,
    };
  }

  static async open(cleanup: Cleanup): Promise<Reader> {
    // Looks like a checkout, but everything that commands write lands in the test's own folder. Links, so that compiled
    // code is cached.
    const folder = await mkdtemp(join(tmpdir(), 'postern-test-docs-'));
    cleanup.after(() => rm(folder, { recursive: true, force: true }));
    for (const name of ['src', 'tools', 'package.json', 'node_modules'])
      await symlink(join(projectRoot, name), join(folder, name));
    await symlink(dirname(LAUNCHER), join(folder, 'bin'));
    const server = startServerProcess(cleanup, 'postern-data', {
      cwd: folder,
      launcher: join(folder, 'bin', 'postern.mjs'),
      // The webhook's receiver is on loopback here.
      env: {
        POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8',
        POSTERN_IDENTITY_HOST: 'id.localhost:7443',
        POSTERN_FILE_ROOTS: '/srv/www',
      },
    });
    const ready = await server.ready();
    const { edge } = ready.addresses as unknown as { edge: string };
    await writeFile(join(folder, '.curlrc'), `connect-to = ":7443:127.0.0.1:${edge.split(':').at(-1)}"\n`);
    const ports = new Map<string, string>();
    for (const port of SERVICE_PORTS) ports.set(port, String(await freePort()));
    return new Reader(folder, server, ready, ports);
  }

  port(name: ServicePort): string {
    return this.#ports.get(name) ?? name;
  }

  /**
   * The first API key, which the reader pastes; only pages that use the HTTP API directly need it in the environment.
   */
  async apiKey(): Promise<string> {
    return (await readFile(join(this.folder, 'postern-data', 'first-api-key'), 'utf8')).trim();
  }

  terminal(env: Readonly<Record<string, string>> = {}, cwd = this.folder): Terminal {
    return new Terminal({ cwd, env: { ...this.env, ...env } });
  }

  /** One command in its own terminal. */
  async once(script: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const terminal = this.terminal(env);
    try {
      return await terminal.run(script);
    } finally {
      await terminal.close();
    }
  }

  /** A block with this machine's ports. */
  adapt(text: string): string {
    return text
      .replaceAll('http://127.0.0.1:7080', this.ready.base_url)
      .replaceAll(/\b(3000|3001|3002|7090)\b/g, (port) => this.#ports.get(port) ?? port);
  }

  /** Follows a page from top to bottom. The plan has one entry for each of its blocks. */
  async follow(page: string, plan: readonly Treatment[], setup = ''): Promise<void> {
    const terminal = this.terminal({ POSTERN_CLI_API_KEY: await this.apiKey() });
    const background: Terminal[] = [];
    try {
      await terminal.run(/^In a checkout, first run `(.+?)`\./m.exec(readPage(page))?.[1] ?? '');
      if (setup !== '') await terminal.run(setup);
      for (const [index, block] of shellBlocks(page).entries()) {
        const treatment = plan[index];
        const where = `${page}:${block.line}`;
        if (treatment === undefined || 'skip' in treatment) continue;
        if ('custom' in treatment) await treatment.custom(block, { reader: this, terminal });
        else if ('run' in treatment) expectOutput(where, await terminal.run(this.adapt(block.text)), treatment.run);
        else {
          if ('replacesPrevious' in treatment) await background.pop()?.close();
          const other = this.terminal();
          background.push(other);
          await other.start(this.adapt(block.text), 'service' in treatment ? /^/ : treatment.background);
          if ('service' in treatment) await untilAccepts(Number(this.port(treatment.service)));
        }
      }
    } finally {
      for (const open of [terminal, ...background]) await open.close();
    }
  }
}

function expectOutput(where: string, output: string, expected: RegExp): void {
  if (!expected.test(output)) throw new Error(`${where} printed something else than ${expected}:\n${output}`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

/** The pages' services print nothing when they are ready. */
async function untilAccepts(port: number): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (performance.now() < deadlineMs) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port}`);
}
