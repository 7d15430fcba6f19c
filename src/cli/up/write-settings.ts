import { withSettings } from '../../config/edit-file.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { settingOf } from '../../config/schema.ts';
import { yamlLine } from '../../lib/text/yaml/yaml-text.ts';
import { printable } from '../api/cell-text.ts';
import type { CommandContext } from '../command.ts';
import { painterFor } from '../output/color.ts';
import type { ServicePorts } from '../service/service-ports.ts';
import { isUnchosen, type Settings } from './plan-settings.ts';
import type { SettingsPlace } from './settings-place.ts';

const NEW_FILE = `# Settings of the Postern server, started by "postern up". Change them as you like, then run "postern restart".
# Everybody on this machine can read this file: secrets belong in variables.
`;
const FILE_MODE = 0o644;

/** The text of the settings file with these settings; null: there is no file, and none is needed. */
export function editedText({ file, text }: Pick<SettingsPlace, 'file' | 'text'>, changes: Settings): string | null {
  return text === null && changes.size === 0 ? null : withSettings(text ?? NEW_FILE, file, changes);
}

interface Writing {
  readonly former: LoadedConfig;
  readonly context: CommandContext;
  readonly ports: Pick<ServicePorts, 'write' | 'modeOf'>;
}

/** Shows the difference, and writes it. A server starts with a file even if all its settings are the defaults. */
export async function writeSettings(
  place: SettingsPlace,
  changes: Settings,
  { former, context, ports }: Writing,
): Promise<void> {
  const { file, text } = place;
  if (text !== null && changes.size === 0) return;
  const paint = painterFor(context);
  context.print(`${text === null ? 'new file' : 'file'} ${file}`);
  for (const [name, value] of changes) {
    const isNew = isUnchosen(name, former);
    const before = isNew ? '' : `${yamlLine(settingOf(name).kind.encode(former.values[name]))} -> `;
    context.print(
      paint(printable(`  ${isNew ? '+' : '~'} ${name}: ${before}${yamlLine(value)}`), isNew ? 'green' : 'yellow'),
    );
  }
  await ports.write(file, editedText(place, changes) ?? NEW_FILE, ports.modeOf(file) ?? FILE_MODE);
}
