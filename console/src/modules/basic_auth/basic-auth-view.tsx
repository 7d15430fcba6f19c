import { Facts } from '../../components/facts.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { textOf } from '../../format/text.ts';
import type { ModuleViewProps } from '../module-view.ts';

/** The first user of a new module. */
export const BASIC_AUTH_BEGINNING = { users: [{ username: '', password: '' }] };

/** The names alone: passwords are not shown anywhere. */
export function BasicAuthView({ config }: ModuleViewProps) {
  const users = Array.isArray(config['users']) ? (config['users'] as readonly Record<string, unknown>[]) : [];
  const names = users.map(({ username }) => textOf(username));
  return (
    <Facts
      rows={[
        ['Users', names.length === 0 ? 'nobody' : <ValueView key="users" value={names} />],
        ['Realm', <ValueView key="realm" value={config['realm']} />],
        ['OPTIONS without a password', config['options_passthrough'] === true ? 'allowed' : 'refused'],
      ]}
    />
  );
}
