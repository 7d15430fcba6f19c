import type { Config } from '../config/schema.ts';
import { NodeQuestions } from '../nodes/questions/node-questions.ts';
import type { OwnThreads } from '../telemetry/other-nodes.ts';
import { InstallationRequests } from '../telemetry/requests/installation-requests.ts';
import { RequestHistory } from '../telemetry/requests/request-history.ts';
import type { OpenedNodes } from './cluster/nodes.ts';

export interface OpenedRequests {
  readonly questions: NodeQuestions;
  /** This node alone. */
  readonly history: RequestHistory;
  /** Threads of this node that serve traffic. */
  readonly threads: OwnThreads;
  /** All nodes. */
  readonly requests: InstallationRequests;
}

/** The history of requests, here and on the other nodes. */
export function openRequests(config: Config, { membership, links }: OpenedNodes, threads: OwnThreads): OpenedRequests {
  const questions = new NodeQuestions(membership, links);
  const history = new RequestHistory({ maxRequests: config.request_history });
  return { questions, history, threads, requests: new InstallationRequests(history, questions, threads) };
}
