import { once } from 'node:events';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import { dirname, join } from 'node:path';
import type { Cleanup } from '../../support/cleanup.ts';
import { EdgeWorld, type Site } from '../../support/edge-world.ts';
import { listenOn } from '../../support/listen-on.ts';
import { type CountryNetwork, mmdbFile } from '../../support/mmdb-file.ts';
import { tempDir } from '../../support/temp-dir.ts';
import type { WorldOptions } from '../../support/test-world.ts';

/** A server whose lists a test writes, and whose visitors come from any address. */
export class ListWorld {
  readonly edge: EdgeWorld;
  readonly dir: string;
  readonly database: string;
  /** What the publisher of lists answers. */
  publish: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end('');
  asked: IncomingMessage[] = [];
  #origin = '';

  private constructor(edge: EdgeWorld, dir: string, database: string) {
    this.edge = edge;
    this.dir = dir;
    this.database = database;
  }

  static async open(
    test: Cleanup,
    env: Readonly<Record<string, string>> = {},
    options: Omit<WorldOptions, 'env'> = {},
    folder?: string,
  ): Promise<ListWorld> {
    const root = folder ?? (await tempDir(test));
    const [dir, database] = [join(root, 'lists'), join(root, 'countries.mmdb')];
    mkdirSync(dir, { recursive: true });
    const settings = {
      POSTERN_LISTS_DIR: dir,
      POSTERN_LISTS_ALLOW_CIDRS: '127.0.0.0/8',
      POSTERN_COUNTRY_DATABASE: database,
      POSTERN_TRUSTED_PROXIES: '127.0.0.0/8',
      ...env,
    };
    const world = new ListWorld(await EdgeWorld.open(test, settings, options), dir, database);
    const server = createServer((request, response) => {
      world.asked.push(request);
      world.publish(request, response);
    });
    world.#origin = `http://127.0.0.1:${await listenOn(test, server)}`;
    return world;
  }

  url(path = '/list.txt'): string {
    return `${this.#origin}${path}`;
  }

  /** Replaces a file in one step, as a good publisher does. */
  write(file: string, content: string | Uint8Array): void {
    const path = join(this.dir, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.new`, content);
    renameSync(`${path}.new`, path);
  }

  writeCountries(networks: readonly CountryNetwork[] | Uint8Array): void {
    const bytes = networks instanceof Uint8Array ? networks : mmdbFile(networks as readonly CountryNetwork[]);
    writeFileSync(`${this.database}.new`, bytes);
    renameSync(`${this.database}.new`, this.database);
  }

  /** A site whose policy allows everybody, unless `allows` says otherwise. */
  async site(allows: readonly string[] = ['0.0.0.0/0', '::/0']): Promise<Site & { readonly policyId: string }> {
    const site = await this.edge.site(await this.edge.httpResponse('hello'));
    const { id: policyId } = await this.edge.api('POST', '/ip_policies', {});
    for (const cidr of allows)
      await this.edge.api('POST', '/ip_policy_rules', { ip_policy_id: policyId, action: 'allow', cidr });
    await this.edge.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    return { ...site, policyId };
  }

  list(policyId: string, fields: Readonly<Record<string, unknown>>): Promise<Shown> {
    return this.edge.api('POST', '/ip_policy_lists', { ip_policy_id: policyId, ...fields });
  }

  read(id: string): Promise<Shown> {
    return this.edge.api('GET', `/ip_policy_lists/${id}`);
  }

  refresh(id: string, body: object = {}): Promise<Shown> {
    return this.edge.api('POST', `/ip_policy_lists/${id}/refresh`, body);
  }

  /** Status of a visitor's request from this address. */
  async from(address: string, host: string): Promise<number> {
    const { status } = await this.edge.ask(host, '/', { headers: { 'x-forwarded-for': address } });
    return status;
  }

  /** An open response to a visitor from this address. */
  async open(host: string, address: string): Promise<OpenResponse> {
    const headers = { host, 'x-forwarded-for': address };
    const sent = request({ ...this.edge.tlsOptions(host), agent: false, path: '/', headers });
    sent.on('error', () => {}).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response, 'data');
    const ended = new Promise<'whole' | 'cut'>((resolve) => {
      response.on('end', () => resolve('whole')).on('error', () => resolve('cut'));
      response.on('close', () => resolve('cut'));
    });
    return {
      ended,
      get isOpen() {
        return !response.destroyed && !response.readableEnded;
      },
      destroy: () => void sent.destroy(),
    };
  }

  async explain(
    address: string,
    host: string,
  ): Promise<{ decision: string; rule?: string; reason: string; text: string }> {
    const explained = await this.edge.api('POST', '/explain', { url: `https://${host}/`, address });
    return explained.decisions.find(({ module }: { module: string }) => module === 'ip_restriction');
  }
}

export interface OpenResponse {
  readonly ended: Promise<'whole' | 'cut'>;
  readonly isOpen: boolean;
  destroy(): void;
}

export interface Shown {
  readonly id: string;
  readonly status: string;
  readonly entries: number;
  readonly skipped_lines: number;
  readonly loaded_at: string | null;
  readonly checked_at: string | null;
  readonly error: string | null;
  readonly headers: Readonly<Record<string, string>>;
}
