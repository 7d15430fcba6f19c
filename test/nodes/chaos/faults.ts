import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterNode } from '../../support/cluster/cluster-node.ts';
import type { Cluster } from '../../support/cluster.ts';
import type { MovableSystemClock } from '../../support/movable-system-clock.ts';
import type { OwnPostgres } from '../../support/own-postgres.ts';
import type { Random } from '../../support/random.ts';

export interface FaultWorld {
  readonly cluster: Cluster;
  readonly postgres: OwnPostgres;
  /** Null: clocks cannot be moved here. */
  clockOf(node: ClusterNode): MovableSystemClock | null;
}

/** A fault that is on. */
export interface Fault {
  readonly name: string;
  /** Nodes that cannot answer meanwhile. */
  readonly down: readonly ClusterNode[];
  /** Writes and new logins may be refused with 503. */
  readonly isWithoutDatabase: boolean;
  /** Resolves when it is over. */
  readonly over: Promise<void>;
}

export const FAULT_KINDS = [
  'kill',
  'freeze',
  'cut-link',
  'black-hole-link',
  'database-restart',
  'clock-jump',
  'database-link',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

const FREEZE_MS = 10_000;

export function startFault(world: FaultWorld, kind: FaultKind, random: Random, freezeMs = FREEZE_MS): Fault {
  const { cluster, postgres } = world;
  const [one, other] = random.shuffled(cluster.nodes) as [ClusterNode, ClusterNode];
  const lasting = Math.min(random.between(3000, 10_000), freezeMs);
  const fault = (name: string, over: Promise<void>, fields: Partial<Fault> = {}): Fault => {
    return { name, over, down: [], isWithoutDatabase: false, ...fields };
  };
  switch (kind) {
    case 'kill': {
      const pauseMs = random.between(0, 4000);
      return fault(`kill -9 ${one.name}, started again after ${Math.round(pauseMs)} ms`, killed(one, pauseMs), {
        down: [one],
      });
    }
    case 'freeze':
      one.freeze();
      return fault(
        `SIGSTOP ${one.name} for ${freezeMs} ms`,
        after(freezeMs, () => one.thaw()),
        { down: [one] },
      );
    case 'cut-link':
    case 'black-hole-link':
      cluster.setLink(one, other, kind === 'cut-link' ? 'cut' : 'black-hole');
      return fault(
        `${kind} ${one.name}–${other.name} for ${Math.round(lasting)} ms`,
        after(lasting, () => cluster.setLink(one, other, 'open')),
      );
    case 'database-restart': {
      const signal = random.one(['SIGINT', 'SIGQUIT', 'SIGKILL'] as const);
      return fault(`database restart with ${signal}`, restarted(postgres, signal), { isWithoutDatabase: true });
    }
    case 'database-link': {
      const state = random.one(['cut', 'black-hole'] as const);
      cluster.setDatabaseLink(one, state);
      return fault(
        `${state} of ${one.name}'s link to the database for ${Math.round(lasting)} ms`,
        after(lasting, () => cluster.setDatabaseLink(one, 'open')),
        { isWithoutDatabase: true },
      );
    }
    case 'clock-jump': {
      const hours = random.one([1, -1]);
      return fault(`clock of ${one.name} jumps by ${hours} h`, jumped(world.clockOf(one), hours, lasting));
    }
  }
}

async function killed(node: ClusterNode, pauseMs: number): Promise<void> {
  await node.kill('SIGKILL');
  await sleep(pauseMs);
  await node.start();
}

async function after(ms: number, heal: () => void): Promise<void> {
  await sleep(ms);
  heal();
}

async function restarted(postgres: OwnPostgres, signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void> {
  await postgres.end(signal);
  await postgres.start();
}

async function jumped(clock: MovableSystemClock | null, hours: number, lastingMs: number): Promise<void> {
  await clock?.shift(hours);
  await sleep(lastingMs);
  await clock?.shift(0);
}
