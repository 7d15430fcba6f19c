import { Chip } from '../../components/chip.tsx';
import { href } from '../../router/location.ts';
import type { ModuleViewProps } from '../module-view.ts';
import { RehearsalNote } from '../rehearsal-note.tsx';

type Rule = Readonly<Record<string, unknown>>;

export function AccessView({ config, edgeId, routeId }: ModuleViewProps) {
  return (
    <div class="stack-small">
      <RehearsalNote config={config} what="The rules" />
      <RuleList name="Deny" rules={rulesIn(config['deny'])} tone="danger" />
      <RuleList name="Allow" rules={rulesIn(config['allow'])} tone="ok" />
      <RuleList name="Bearer tokens" rules={rulesIn(config['bearer'])} tone="accent" />
      {routeId !== null && (
        <p>
          <a href={href(`/access?edge=${edgeId}&route=${routeId}`)}>Rehearse these rules</a>
        </p>
      )}
    </div>
  );
}

function rulesIn(value: unknown): readonly Rule[] {
  return Array.isArray(value) ? (value as Rule[]) : [];
}

function RuleList({ name, rules, tone }: { name: string; rules: readonly Rule[]; tone: 'ok' | 'danger' | 'accent' }) {
  if (rules.length === 0) return null;
  return (
    <ul class="stack-small">
      {rules.map((rule, index) => (
        <li key={index} class="line">
          <Chip tone={tone}>{`${name} ${index}`}</Chip>
          <span class="wrap-anywhere" dir="auto">
            {ruleText(rule)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function ruleText(rule: Rule): string {
  return Object.entries(rule)
    .filter(([, value]) => value !== undefined && value !== null && value !== false)
    .map(([name, value]) => {
      if (name === 'claims') return claimsText(value as Record<string, unknown[]>);
      return `${name.replaceAll('_', ' ')}: ${Array.isArray(value) ? value.map(idOf).join(', ') : String(value)}`;
    })
    .join(' and ');
}

function claimsText(claims: Record<string, unknown[]>): string {
  return Object.entries(claims)
    .map(([name, values]) => `claim ${name} is ${values.map(String).join(' or ')}`)
    .join(' and ');
}

function idOf(value: unknown): string {
  return typeof value === 'object' && value !== null && 'id' in value ? String(value.id) : String(value);
}
