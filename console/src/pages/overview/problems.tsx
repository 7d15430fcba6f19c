import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Notice } from '../../components/notice.tsx';
import { textAt } from '../../format/text.ts';
import { useFirstPage } from './overview-data.ts';

interface Alerts {
  readonly alerts?: readonly Readonly<Record<string, unknown>>[];
}

/** What needs attention: alerts, problems of nodes, certificates that cannot be had. */
export function Problems() {
  const nodes = useFirstPage('/nodes', 'nodes', 'nodes:read');
  const managed = useFirstPage('/managed_certificates', 'managed_certificates', 'managed_certificates:read');
  const alerts = useLoaded<Alerts>(
    'alerts',
    async (abort) => (isAllowed('alerts:read') ? get<Alerts>('/alerts', abort) : {}),
    30_000,
  );
  const problems = [
    ...(alerts.data?.alerts ?? []).map(
      (alert) => ['message', 'msg', 'title', 'kind'].map((name) => textAt(alert, name)).find(Boolean) ?? 'alert',
    ),
    ...(nodes.data ?? []).flatMap((node) =>
      ((node['problems'] as unknown[] | undefined) ?? []).map(
        (problem) => `${textAt(node, 'name')}: ${problemText(problem)}`,
      ),
    ),
    ...(managed.data ?? [])
      .filter(({ status }) => status === 'failed')
      .map(
        (row) =>
          `${textAt(row, 'hostname')}: no certificate (${textAt(row['provisioning_job'] as Record<string, unknown> | null, 'msg') || 'see the log'})`,
      ),
  ];
  if (problems.length === 0) return null;
  return (
    <Notice tone="warn">
      <h2>{problems.length === 1 ? 'One problem' : `${problems.length} problems`}</h2>
      <ul class="stack-small">
        {problems.slice(0, 20).map((problem) => (
          <li key={problem} dir="auto">
            {problem}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function problemText(problem: unknown): string {
  if (typeof problem === 'string') return problem;
  const { message, problem: text } = (problem ?? {}) as { message?: string; problem?: string };
  return message ?? text ?? JSON.stringify(problem);
}
