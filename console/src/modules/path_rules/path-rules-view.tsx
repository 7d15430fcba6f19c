import { Chip } from '../../components/chip.tsx';
import type { ModuleViewProps } from '../module-view.ts';

interface PathRule {
  readonly match_type: string;
  readonly match: string;
  readonly to: string;
  /** Absent: the path is changed without the visitor's knowledge. */
  readonly status_code?: string | number;
}

const KINDS: Readonly<Record<string, string>> = { exact_path: 'exactly', path_prefix: 'below', regex: 'like' };

/** Rules of redirect and rewrite, in their order: the first that matches decides. */
export function PathRulesView({ config }: ModuleViewProps) {
  const rules = Array.isArray(config['rules']) ? (config['rules'] as PathRule[]) : [];
  if (rules.length === 0) return <p class="muted">No rules.</p>;
  return (
    <ol class="stack-small rules">
      {rules.map(({ match_type: kind, match, to, status_code: status }, index) => (
        <li key={index} class="line">
          <span class="muted">{KINDS[kind] ?? kind}</span>
          <code class="wrap-anywhere">{match}</code>
          <span aria-hidden="true">→</span>
          <span class="hidden-text">to</span>
          <code class="wrap-anywhere">{to}</code>
          {status !== undefined && <Chip>{String(status)}</Chip>}
        </li>
      ))}
    </ol>
  );
}
