import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { openPeerAuthority, type PeerAuthority } from '../../../src/proxy/pki/peer-authority.ts';
import { NodeLinks } from '../../../src/tunnel/nodes/links/node-links.ts';
import type { Membership } from '../../../src/tunnel/nodes/membership/membership.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { memoryRecords } from '../../support/internal-ca.ts';
import { FakeInstallation } from './fake-installation.ts';

export interface LinkedNode {
  readonly id: string;
  readonly membership: Membership & { readonly problems: Map<string, string> };
  readonly links: NodeLinks;
  readonly port: number;
  /** Messages of its log, with their fields. */
  readonly logged: string[];
  /** How often it read the store because of an unknown node. */
  reads: number;
}

export function newNodeId(): string {
  return `nd_${randomBytes(12).toString('hex')}`;
}

/** Nodes with real links in one process, without stores. */
export class LinkWorld {
  readonly installation = new FakeInstallation();
  readonly authority: PeerAuthority;
  readonly #test: Cleanup;

  private constructor(test: Cleanup, authority: PeerAuthority) {
    this.#test = test;
    this.authority = authority;
  }

  static async open(test: Cleanup): Promise<LinkWorld> {
    return new LinkWorld(test, await newAuthority());
  }

  /** `through`: others dial it there instead. `start` registers handlers before the first link. */
  async node(
    options: {
      readonly id?: string;
      readonly port?: number;
      readonly through?: string;
      readonly authority?: PeerAuthority;
      readonly start?: (links: NodeLinks) => void;
    } = {},
  ): Promise<LinkedNode> {
    const { id = newNodeId(), authority = this.authority } = options;
    const logged: string[] = [];
    const membership = this.installation.member(id);
    const log = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
    const node = { id, membership, logged, reads: 0 };
    const readAgain = async (): Promise<void> => {
      node.reads += 1;
    };
    const links = await NodeLinks.open({ membership, authority, readAgain, log: { info: log, warn: log, error: log } });
    links.listener.listen(options.port ?? 0, '127.0.0.1');
    await once(links.listener, 'listening');
    this.#test.after(() => links.drain(0));
    const { port } = links.listener.address() as AddressInfo;
    options.start?.(links);
    this.installation.put(id, { peerAddress: options.through ?? `127.0.0.1:${port}` });
    links.start();
    return Object.assign(node, { links, port });
  }
}

export function newAuthority(): Promise<PeerAuthority> {
  return openPeerAuthority(memoryRecords(), { info() {} }, Date.now());
}

/** A TCP proxy whose connections can go silent: nothing is forwarded, and nothing is closed. */
export class BlackHole {
  readonly address: string;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isSilent = false;

  private constructor(port: number) {
    this.address = `127.0.0.1:${port}`;
  }

  static async open(test: Cleanup, target: () => number): Promise<BlackHole> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const hole = new BlackHole((server.address() as AddressInfo).port);
    server.on('connection', (client) => hole.#carry(client, target()));
    test.after(async () => {
      server.close();
      hole.cut();
    });
    return hole;
  }

  set isSilent(isSilent: boolean) {
    this.#isSilent = isSilent;
  }

  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  #carry(client: Socket, port: number): void {
    const pair = [client, connect(port, '127.0.0.1')] as const;
    this.#pairs.add(pair);
    for (const [from, to] of [pair, pair.toReversed() as unknown as typeof pair]) {
      from.on('error', () => {});
      from.on('data', (chunk) => {
        if (!this.#isSilent) to.write(chunk);
      });
      from.on('close', () => {
        this.#pairs.delete(pair);
        if (!this.#isSilent) to.destroy();
      });
    }
  }
}
