import { setImmediate as turn } from 'node:timers/promises';
import type { NodeStore } from '../../../src/store/node-store.ts';
import { createNodeStore, type nodePrograms } from '../../../src/store/sql/node-store.ts';
import { startProgram } from '../../../src/store/sql/programs.ts';
import { migrate } from '../../../src/store/sql/schema/migrate.ts';
import type { SqlEngine } from '../../../src/store/sql/sql-engine.ts';
import { SqliteConnection } from '../../../src/store/sqlite/sqlite-connection.ts';
import { NodeMembership } from '../../../src/tunnel/nodes/membership/node-membership.ts';
import type { Cleanup } from '../../support/cleanup.ts';

const START_MS = 1_800_000_000_000;

/** The store's own programs, in memory and in this thread. */
function memoryStore(test: Cleanup, nowMs: () => number): NodeStore {
  const connection = new SqliteConnection({ path: ':memory:', access: 'write' });
  test.after(async () => connection.close());
  connection.transaction('IMMEDIATE', () => connection.run(migrate({ dialect: 'sqlite' })));
  const run = async (name: Parameters<typeof startProgram>[0]['name'], ...args: readonly unknown[]) =>
    connection.transaction('IMMEDIATE', () => connection.run(startProgram({ name, args })));
  const engine = { read: run, write: run, writeUrgently: run } as unknown as SqlEngine<typeof nodePrograms>;
  return createNodeStore(engine, () => ({ nowMs: nowMs(), isDatabaseTime: false }));
}

/** Memberships on one real store, with a database that each of them may lose, links without a network, and a clock. */
export class MemberWorld {
  readonly store: NodeStore;
  readonly #time: { nowMs: number };
  readonly members: Member[] = [];

  private constructor(store: NodeStore, time: { nowMs: number }) {
    this.store = store;
    this.#time = time;
  }

  static open(test: Cleanup): MemberWorld {
    const time = { nowMs: START_MS };
    return new MemberWorld(
      memoryStore(test, () => time.nowMs),
      time,
    );
  }

  get nowMs(): number {
    return this.#time.nowMs;
  }

  async join(name: string, facts: Readonly<Record<string, string>> = {}): Promise<Member> {
    const member = new Member(this, name, facts);
    await member.membership.join(`127.0.0.1:${this.members.length + 1}`);
    this.members.push(member);
    await this.beat();
    return member;
  }

  /** All of them that run. */
  async beat(): Promise<void> {
    for (const member of this.members) if (!member.isStopped) await member.membership.beat();
    await turn();
  }

  /** Time passes, with heartbeats. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 400) {
      this.#time.nowMs += Math.min(400, left);
      await this.beat();
    }
  }

  /** Time passes for nodes that were started, in turns of their event loops that are 70 ms apart. */
  async live(timers: { tick(ms: number): void }, ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 70) {
      this.#time.nowMs += 70;
      timers.tick(70);
      await turn();
      await turn();
    }
  }

  /** Time passes without heartbeats. */
  skip(ms: number): void {
    this.#time.nowMs += ms;
  }
}

export class Member {
  readonly membership: NodeMembership;
  readonly expiries: string[] = [];
  hasDatabase = true;
  /** Packets vanish: requests to the database have no answer and no error. */
  isDatabaseSilent = false;
  /** The statement runs, and gets no answer. */
  isAnswerLost = false;
  isStopped = false;
  answersCalls = true;
  readonly cutFrom = new Set<Member>();
  /** What it has in common with the others. */
  agreed: Readonly<Record<string, string>> = {};
  /** For how long its links have been up, by its own word; 0: it does not say so. */
  linkedMs = 0;

  constructor(world: MemberWorld, name: string, facts: Readonly<Record<string, string>>) {
    const store: NodeStore = {
      ...world.store,
      heartbeat: (...args) => this.#reach(() => world.store.heartbeat(...args)),
      renewFor: (...args) => this.#reach(() => world.store.renewFor(...args)),
      agree: (...args) => this.#reach(() => world.store.agree(...args)),
      leave: (...args) => this.#reach(() => world.store.leave(...args)),
    };
    this.membership = new NodeMembership({
      store,
      facts: {
        ...{ id: `nd_${name}`, name, version: '1', roles: ['edge'], region: 'local', startedAtMs: world.nowMs },
        ...{ peerAddress: null, tunnelAddress: null },
      },
      agreed: Object.fromEntries(
        Object.entries(facts).map(([key, value]) => {
          const [current = '', ...accepted] = value.split(',');
          return [key, { value: current, accepted, advice: `set ${key} alike` }];
        }),
      ),
      onAgreed: (values) => {
        this.agreed = values;
      },
      counts: () => ({ agents: 1, tunnels: 2 }),
      log: { info() {}, warn() {}, error() {} },
      monotonicMs: () => world.nowMs - START_MS,
    });
    const find = (id: string): Member | undefined => world.members.find(({ membership }) => membership.self.id === id);
    const isLinked = (other: Member): boolean =>
      other !== this && !other.isStopped && !this.cutFrom.has(other) && !other.cutFrom.has(this);
    this.membership.usePeers({
      isLinked: (id) => {
        const other = find(id);
        return other !== undefined && isLinked(other);
      },
      linkTo: () => ({ linkedMs: this.linkedMs, keepsMs: this.linkedMs === 0 ? 0 : 900 }),
      linked: () => world.members.filter(isLinked).map(({ membership }) => membership.self.id),
      renewThrough: async (id) => {
        const other = find(id);
        if (other?.answersCalls !== true) throw new Error('no response');
        return other.membership.renewFor(this.membership.self.id);
      },
      sayFarewell: async () => {
        for (const other of world.members.filter(isLinked)) other.membership.heardFarewell(this.membership.self.id);
      },
    });
  }

  get mayServe(): boolean {
    return this.membership.mayServe();
  }

  get seen(): string {
    return this.membership
      .nodes()
      .map(({ name, status }) => `${name} ${status}`)
      .sort()
      .join(', ');
  }

  async #reach<Result>(use: () => Promise<Result>): Promise<Result> {
    if (!this.hasDatabase) throw new Error('the database is away');
    if (this.isDatabaseSilent) await new Promise(() => {});
    const result = await use();
    if (this.isAnswerLost) throw new Error('the connection was lost');
    return result;
  }
}
