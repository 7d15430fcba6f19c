import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { EdgeWorld } from './edge-world.ts';

/** A response to one request, over either version of HTTP. */
export interface FolderAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

export interface FolderRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A server that may serve the folders below one, and clients for them. */
export class FolderWorld {
  readonly edge: EdgeWorld;
  /** The only folder in `file_roots`. */
  readonly root: string;

  private constructor(edge: EdgeWorld, root: string) {
    this.edge = edge;
    this.root = root;
  }

  static async open(test: Cleanup, env: Readonly<Record<string, string>> = {}): Promise<FolderWorld> {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'postern-files-')));
    test.after(() => {
      rmSync(root, { recursive: true, force: true });
      return Promise.resolve();
    });
    return new FolderWorld(await EdgeWorld.open(test, { POSTERN_FILE_ROOTS: root, ...env }), root);
  }

  /** Writes files, and returns the folder. */
  folder(name: string, files: Readonly<Record<string, string | Buffer>>): string {
    const folder = join(this.root, name);
    mkdirSync(folder, { recursive: true });
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    return folder;
  }

  async site(folder: string, fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { id } = await this.edge.api('POST', '/backends/files', { folder, ...fields });
    return (await this.edge.site(id)).host;
  }

  async http1(host: string, path: string, { body, ...request }: FolderRequest = {}): Promise<FolderAnswer> {
    const answer = await this.edge.ask(host, path, { ...request, ...(body !== undefined && { body }) });
    return { ...answer, headers: answer.headers as FolderAnswer['headers'] };
  }

  async http2(host: string, path: string, { method = 'GET', headers = {}, body }: FolderRequest = {}) {
    const session = await this.edge.http2(host);
    try {
      return await new Promise<FolderAnswer>((resolve, reject) => {
        const stream = session.request({ ':path': path, ':method': method, ...headers });
        const chunks: Buffer[] = [];
        let answer: Record<string, unknown> = {};
        stream.on('response', (given) => {
          answer = given;
        });
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('error', reject);
        stream.on('end', () => {
          const { ':status': status, ...rest } = answer;
          resolve({ status: Number(status), headers: rest as FolderAnswer['headers'], body: Buffer.concat(chunks) });
        });
        stream.end(body);
      });
    } finally {
      session.destroy();
    }
  }
}
