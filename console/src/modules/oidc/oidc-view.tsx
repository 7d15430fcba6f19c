import { Facts } from '../../components/facts.tsx';
import { ValueView } from '../../components/value-view.tsx';
import type { ModuleViewProps } from '../module-view.ts';

export function OidcView({ config }: ModuleViewProps) {
  return (
    <Facts
      rows={[
        ['Provider', <ValueView key="issuer" value={config['issuer']} />],
        ['Client ID', <ValueView key="client" value={config['client_id']} />],
        ['Scopes', <ValueView key="scopes" value={config['scopes']} />],
        ['Session ends', sessionEnd(config)],
      ]}
    />
  );
}

function sessionEnd(config: ModuleViewProps['config']): string {
  const limits = [
    seconds(config['inactivity_timeout'], 'without activity'),
    seconds(config['maximum_duration'], 'after the login'),
  ].filter((text) => text !== '');
  return limits.length === 0 ? 'as the settings of the server say' : limits.join(', or ');
}

function seconds(value: unknown, what: string): string {
  if (typeof value !== 'number' || value === 0) return '';
  return value % 3600 === 0 ? `${value / 3600} h ${what}` : `${value} s ${what}`;
}
