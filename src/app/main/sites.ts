import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { OPERATOR_REQUEST } from '../../control/bootstrap.ts';
import type { OperationPorts } from '../../control/documents/operations.ts';
import type { Operation, OperationResult } from '../../control/resources/operation.ts';
import { type Finding, findingTable } from '../../kit/findings.ts';
import type { JsonObject } from '../../kit/json.ts';
import { loadPart } from '../../kit/load-part.ts';
import type { Membership } from '../../tunnel/nodes/membership/membership.ts';

interface SitesDependencies {
  /** File or directory. */
  readonly path: string;
  /** The setting sites_may_shrink. */
  readonly mayShrink: boolean;
  /** Secrets of the file come from here. */
  readonly env: NodeJS.ProcessEnv;
  readonly call: OperatorCall;
  readonly membership: Pick<Membership, 'self' | 'nodes' | 'setProblem'>;
  readonly logger: Logger;
}

/** How soon a file that waits for a confirmation is compared again: "postern apply" confirms it. */
const RECHECK_MS = 10_000;
/** The owner of objects whose file names none. */
const OWNER = 'postern-server';

const CORRECT =
  'correct the file ("postern validate -f FILE" lists its mistakes), then send SIGHUP to the server or run "systemctl reload postern"';

interface Refused {
  readonly problem: string;
}

const { found } = findingTable('nodes', {
  sites_of_several_nodes: {
    level: 'problem',
    text: 'the sites are not applied, because other nodes share the database: every node would apply its own file. Use "postern apply"',
    advice:
      'remove the setting sites (--sites, POSTERN_SITES), and apply the file with "postern apply --prune" instead',
  },
  sites_unconfirmed: {
    level: 'problem',
    text: ({ problem }: Refused) => `the sites wait for a confirmation: ${problem}`,
    advice:
      'correct the file, or if this is meant, run "postern apply -f FILE --prune --owner postern-server" with the same file, or start the server with --sites-may-shrink',
  },
  sites_refused: {
    level: 'problem',
    text: ({ problem }: Refused) => `the sites are not applied: ${problem}`,
    advice: CORRECT,
  },
  sites_failed: {
    level: 'problem',
    text: 'the sites are not applied: see the log of this node',
    advice: CORRECT,
  },
});

/** The file of the setting `sites`: the server applies it to itself. */
export class Sites {
  readonly #deps: SitesDependencies;
  #last: Promise<void> = Promise.resolve();
  /** A run that has not read the file yet. */
  #waiting: Promise<void> | null = null;
  #recheck: NodeJS.Timeout | undefined;
  #isClosed = false;
  #problem: string | null = null;

  constructor(deps: SitesDependencies) {
    this.#deps = deps;
  }

  /**
   * One at a time, and at most one that waits: it reads the file as it is then. Never rejects: what is wrong becomes a
   * problem of the node, and nothing is changed.
   */
  apply(): Promise<void> {
    this.#waiting ??= this.#last.then(() => {
      this.#waiting = null;
      return this.#apply();
    });
    this.#last = this.#waiting;
    return this.#waiting;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#recheck);
  }

  async #apply(): Promise<void> {
    const { path, mayShrink, env, call, membership, logger } = this.#deps;
    clearTimeout(this.#recheck);
    if (this.#isClosed) return;
    if (this.#hasOtherNodes()) return this.#report(found('sites_of_several_nodes', null));
    try {
      const { applyFiles } = await loadPart(() => import('../cli/configuration/apply-files.ts'));
      const applied = await applyFiles({
        ...{ paths: [path], env, owner: OWNER, message: `sites: ${path}`, mayShrink, call },
      });
      if ('isUnconfirmed' in applied) {
        this.#report(found('sites_unconfirmed', applied));
        this.#recheck = setTimeout(() => void this.apply(), RECHECK_MS).unref();
        return;
      }
      if ('problem' in applied) return this.#report(found('sites_refused', applied));
      membership.setProblem('sites', null);
      this.#problem = null;
      const { revision, summary } = applied;
      if (revision === null) logger.info({ path }, 'the sites are as in the file');
      else logger.info({ path, revision, changes: summary }, 'applied the sites');
    } catch (err) {
      logger.error({ err, path }, 'failed to apply the sites');
      membership.setProblem('sites', found('sites_failed', null));
    }
  }

  /** The process that this one takes over from has the same name. */
  #hasOtherNodes(): boolean {
    const { membership } = this.#deps;
    const { self } = membership;
    return membership.nodes().some(({ id, name, status }) => status !== 'lost' && id !== self.id && name !== self.name);
  }

  #report(problem: Finding): void {
    this.#deps.membership.setProblem('sites', problem);
    if (problem.message === this.#problem) return;
    this.#problem = problem.message;
    this.#deps.logger.error({ path: this.#deps.path }, problem.message);
  }
}

interface OperatorRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: unknown;
}

/** Text of the answer; rejects with the error of the operation. */
export type OperatorCall = (request: OperatorRequest) => Promise<string>;

/** The server as a caller of its own API, without a connection and a key. Only paths without ids. */
export function operatorCall(operations: readonly Operation<OperationPorts>[], ports: OperationPorts): OperatorCall {
  return async ({ method, path, body = {} }) => {
    const [address = '', query = ''] = path.split('?');
    const operation = operations.find((each) => each.method === method && each.path === address);
    if (operation === undefined) throw new Error(`there is no operation ${method} ${address}`);
    const result = await operation.run(
      {
        ...OPERATOR_REQUEST,
        operationId: `op_${randomUUID()}`,
        query: Object.fromEntries(new URLSearchParams(query)),
        body: body as JsonObject,
      },
      ports,
    );
    return textOf(result);
  };
}

async function textOf({ text, parts, body }: OperationResult): Promise<string> {
  if (parts === undefined) return text ?? JSON.stringify(body);
  let whole = '';
  for await (const part of parts) whole += part;
  return whole;
}
