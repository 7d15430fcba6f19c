import type { AlertKind, SeenAgent } from '../../alert-kind.ts';

/** More are not remembered: agents with random metadata must not fill the memory. */
const MAX_REMEMBERED = 10_000;

/** An agent that was connected, and no longer is. Credential and metadata identify an agent. */
export const agentAway: AlertKind = {
  name: 'agent_away',
  description: 'An agent that was connected has been away for longer than alert_agent_away.',
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
