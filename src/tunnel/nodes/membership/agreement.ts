import type { NodeStore } from '../../../store/node-store.ts';
import { nodeErrors } from '../errors.ts';

/** Something that must be equal on all nodes, such as a setting. */
export interface AgreedFact {
  readonly value: string;
  /** Other values that work with this node. If other nodes have one of them, this node uses that value. */
  readonly accepted?: readonly string[];
  /** How to make the value equal, phrased to follow a colon. */
  readonly advice: string;
}

export type AgreedFacts = Readonly<Record<string, AgreedFact>>;

/**
 * Values that this node has in common with the other nodes. This node keeps a value that it accepted from them, also
 * when it is alone later: a switch to another secret key would end logins.
 */
export class Agreement {
  readonly #store: NodeStore;
  readonly #nodeId: string;
  readonly #onValues: ((values: Readonly<Record<string, string>>) => void) | undefined;
  #facts: AgreedFacts;

  constructor(
    store: NodeStore,
    nodeId: string,
    facts: AgreedFacts,
    onValues?: (values: Readonly<Record<string, string>>) => void,
  ) {
    this.#store = store;
    this.#nodeId = nodeId;
    this.#facts = facts;
    this.#onValues = onValues;
  }

  /** Joins the other nodes. Rejects when they differ in something that must be equal. */
  async reach(): Promise<void> {
    const facts = this.#facts;
    const values = Object.fromEntries(Object.entries(facts).map(([name, { value }]) => [name, value]));
    const theirs = await this.#store.agree(this.#nodeId, values);
    const differing = Object.entries(theirs).filter(([name, value]) => !facts[name]?.accepted?.includes(value));
    if (differing.length > 0) throw differs(differing, facts);
    if (Object.keys(theirs).length > 0) {
      // The other nodes may have changed the value meanwhile.
      const remaining = Object.entries(await this.#store.agree(this.#nodeId, { ...values, ...theirs }));
      if (remaining.length > 0) throw differs(remaining, facts);
    }
    this.#facts = Object.fromEntries(
      Object.entries(facts).map(([name, fact]) => [name, withValue(fact, theirs[name] ?? fact.value)]),
    );
    this.#onValues?.({ ...values, ...theirs });
  }
}

function withValue(fact: AgreedFact, value: string): AgreedFact {
  if (fact.accepted === undefined) return fact;
  return { ...fact, value, accepted: [fact.value, ...fact.accepted].filter((each) => each !== value) };
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
