import { Chip } from '../components/chip.tsx';
import type { ModuleViewProps } from './module-view.ts';

/** Says that a module only reports what it would refuse. */
export function RehearsalNote({ config, what }: Pick<ModuleViewProps, 'config'> & { readonly what: string }) {
  if (config['enforce'] !== false) return null;
  return (
    <p>
      <Chip tone="warn">rehearsal</Chip> {what} are not enforced: every request passes, and refusals are only reported.
    </p>
  );
}
