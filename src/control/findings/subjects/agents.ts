import { findingTable } from '../../../kit/findings.ts';
import type { AlertKind, SeenAgent } from '../alert-kind.ts';
import type { CheckedAgent } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

const MAX_NAME = 60;

interface Reported {
  readonly agent: CheckedAgent;
  readonly problem: string;
}

const { kinds, found } = findingTable('agents', {
  agent_reports: {
    level: 'warning',
    text: ({ agent: { ip, metadata }, problem }: Reported) => {
      const name = metadata === '' ? ip : `${onOneLine(metadata).slice(0, MAX_NAME)} (${ip})`;
      return `agent ${name}: ${onOneLine(problem)}`;
    },
    advice: 'correct it on the machine of the agent: its log says when the problem is over',
  },
});

/** A stranger wrote the text. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').trim();
}

/** What agents report about their machines, such as containers whose labels they reject. */
export const agentsCheck: Check = {
  name: 'agents',
  nouns: ['tunnel_sessions'],
  kinds,
  *run({ tunnel_sessions: all }) {
    for (const agent of all)
      for (const problem of agent.problems) yield found('agent_reports', { agent, problem }, { id: agent.id });
  },
};

/** Further agents are not remembered: ones with random metadata must not fill the memory. */
const MAX_REMEMBERED = 10_000;

/** An agent that was connected, and no longer is. Credential and metadata identify an agent. */
const agentAway: AlertKind = {
  code: 'agent_away',
  advice:
    'start the agent again, and see its log if it does not connect; if it is to stay away, dismiss the alert or delete its credential',
  sight: 'installation',
  raiseAfterMs: ({ agentAwayMs }) => agentAwayMs,
  resolveAfterMs: 10_000,
  isOn: ({ agentAwayMs }) => agentAwayMs > 0,
  createLook: () => {
    const known = new Set<string>();
    return async (facts) => {
      const online = new Set((await facts.agents()).map(subjectOf));
      const gone = (await facts.farewells()).map(subjectOf);
      for (const subject of [...facts.raised, ...online]) if (known.size < MAX_REMEMBERED) known.add(subject);
      for (const subject of known) {
        // A deleted credential takes its agents with it.
        if (facts.record('credential', credentialOf(subject)) === undefined) known.delete(subject);
      }
      // Stopped on purpose.
      for (const subject of gone) if (!online.has(subject)) known.delete(subject);
      return [...known].map((subject) => ({
        subject,
        state: online.has(subject) ? ('well' as const) : ('bad' as const),
        title: `the agent ${nameOf(subject)} is away`,
      }));
    };
  },
};

function subjectOf({ credentialId, metadata }: SeenAgent): string {
  return `${credentialId} ${metadata.slice(0, 200)}`;
}

function credentialOf(subject: string): string {
  return subject.slice(0, subject.indexOf(' '));
}

function nameOf(subject: string): string {
  const metadata = subject.slice(subject.indexOf(' ') + 1);
  return metadata === ''
    ? `of credential ${credentialOf(subject)}`
    : `"${metadata}" of credential ${credentialOf(subject)}`;
}

export const agents: Subject = { checks: [agentsCheck], alerts: [agentAway] };
