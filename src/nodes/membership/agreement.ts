import type { NodeStore } from '../../store/node-store.ts';
import { nodeErrors } from '../errors.ts';

/** Something that must be equal on all nodes, such as a setting. */
export interface AgreedFact {
  readonly value: string;
  /** Other values that work with this node; the others' value is used then. */
  readonly accepted?: readonly string[];
  /** How to make it equal, phrased to follow a colon. */
  readonly advice: string;
}

export type AgreedFacts = Readonly<Record<string, AgreedFact>>;

/** Joins the other nodes. Rejects when they differ in something that must be equal. */
export async function agreeWithOthers(store: NodeStore, nodeId: string, facts: AgreedFacts): Promise<void> {
  const values = Object.fromEntries(Object.entries(facts).map(([name, { value }]) => [name, value]));
  const theirs = await store.agree(nodeId, values);
  const differing = Object.entries(theirs).filter(([name, value]) => !facts[name]?.accepted?.includes(value));
  if (differing.length > 0) throw differs(differing, facts);
  if (Object.keys(theirs).length === 0) return;
  // They may have changed it meanwhile.
  const remaining = Object.entries(await store.agree(nodeId, { ...values, ...theirs }));
  if (remaining.length > 0) throw differs(remaining, facts);
}

function differs(differing: readonly (readonly [string, string])[], facts: AgreedFacts) {
  const parts = differing.map(
    ([name, value]) => `${name} is ${facts[name]?.value} here and ${value} on the other nodes: ${facts[name]?.advice}`,
  );
  return nodeErrors.create(
    'ERR_POSTERN_NODE_DIFFERS',
    `this server cannot join the other nodes on its database: ${parts.join('; ')}. A node that is alone may change it: stop the others first`,
  );
}
