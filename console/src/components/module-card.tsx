import { useState } from 'preact/hooks';
import { ADDRESS_MODULE } from '../../../src/client/publish/plan-parts.ts';
import { request } from '../api/request.ts';
import { areAllowed } from '../api/scopes.ts';
import type { Document } from '../api/use-pages.ts';
import { write } from '../api/write.ts';
import { AddressEditor, canEditAddresses } from '../modules/ip_restriction/address-editor.tsx';
import { MODULE_BEGINNINGS, MODULE_PREVIEWS, MODULE_VIEWS } from '../modules/registry.tsx';
import { labelOf } from '../schema/json-schema.ts';
import { resolveSchema } from '../schema/openapi-document.ts';
import { fillPath } from '../schema/paths.ts';
import type { ModuleType } from '../schema/resource-types.ts';
import { writeForm } from '../schema/write-form.ts';
import { Chip } from './chip.tsx';
import { ConfirmButton } from './confirm-button.tsx';
import { EditDialog } from './edit/edit-dialog.tsx';
import type { Edited } from './edit/save.ts';
import { Facts } from './facts.tsx';
import type { FormValue } from './form/schema-form.tsx';
import { toast } from './toast.tsx';
import { ValueView } from './value-view.tsx';

interface ModuleCardProps {
  readonly module: ModuleType;
  readonly config: Document;
  readonly ids: Readonly<Record<string, string>>;
  readonly place: string;
  readonly onChange: () => void;
}

export function ModuleCard({ module, config, ids, place, onChange }: ModuleCardProps) {
  const [isEditing, setEditing] = useState(false);
  const path = fillPath(module.path, ids);
  const canWrite = areAllowed(module.replace.scopes);
  const View = MODULE_VIEWS[module.name];
  return (
    <section class="card" aria-label={`${module.title} module`}>
      <header>
        <h3>{module.title}</h3>
        {config['enabled'] === false && <Chip>disabled</Chip>}
        {canWrite && (
          <span class="line push">
            <button type="button" class="small" aria-label={`Edit ${module.title}`} onClick={() => setEditing(true)}>
              Edit
            </button>
            {module.remove !== null && (
              <ConfirmButton
                name="Remove"
                label={`Remove ${module.title}`}
                isSmall
                question={`Remove the module ${module.title}?`}
                done={`${module.title} removed.`}
                offersTrial
                act={(confirmWithin) => write({ method: 'DELETE', path, etag: null, confirmWithin })}
                onDone={onChange}
              >
                <p>{module.description} Without it, requests pass without this step from now on.</p>
              </ConfirmButton>
            )}
          </span>
        )}
      </header>
      <div class="body">
        {View === undefined ? (
          <ModuleFields module={module} config={config} />
        ) : (
          <View
            config={config}
            edgeId={ids['edge_id'] ?? ids['id'] ?? ''}
            routeId={ids['edge_id'] ? (ids['id'] ?? null) : null}
          />
        )}
      </div>
      {isEditing && (
        <ModuleEditor
          module={module}
          path={path}
          place={place}
          isNew={false}
          onClose={() => setEditing(false)}
          onSaved={() => {
            setEditing(false);
            onChange();
          }}
        />
      )}
    </section>
  );
}

function ModuleFields({ module, config }: { module: ModuleType; config: Document }) {
  const { properties = {} } = resolveSchema(module.replace.body ?? {});
  const rows = Object.entries(properties)
    .filter(([name, field]) => name !== 'enabled' && field['x-secret'] === undefined)
    .map(([name, field]) => {
      const value = config[field['x-reference']?.readAs ?? name];
      return [labelOf(name), <ValueView key={name} value={value} schema={field} />] as const;
    });
  return rows.length === 0 ? <p class="muted">{module.description}</p> : <Facts rows={rows} />;
}

interface ModuleEditorProps {
  readonly module: ModuleType;
  readonly path: string;
  /** What has the module, such as "app.example.com/docs". */
  readonly place: string;
  readonly isNew: boolean;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

export function ModuleEditor(props: ModuleEditorProps) {
  const { module, isNew, place, onSaved } = props;
  if (module.name !== ADDRESS_MODULE || !canEditAddresses()) return <FieldsEditor {...props} />;
  return (
    <AddressEditor
      {...props}
      title={isNew ? `Add ${module.title}` : `Edit ${module.title}`}
      body={module.replace.body ?? {}}
      place={place}
      onSaved={() => {
        toast(`${module.title} saved.`);
        onSaved();
      }}
    />
  );
}

/** Reads the module first, for its ETag and the fields that the edge's own document leaves out. */
function FieldsEditor({ module, path, isNew, onClose, onSaved }: ModuleEditorProps) {
  const [edited, setEdited] = useState<Edited | null>(null);
  const [isAsked, setAsked] = useState(false);
  const body = module.replace.body ?? {};
  if (!isAsked) {
    setAsked(true);
    void openModule(path, isNew).then(
      ({ config, etag }) =>
        setEdited({ method: 'PUT', path, body, original: config === null ? null : writeForm(config, body), etag }),
      (error: unknown) => {
        toast(error instanceof Error ? error.message : String(error), 'danger');
        onClose();
      },
    );
  }
  if (edited === null) return null;
  const Preview = MODULE_PREVIEWS[module.name];
  return (
    <EditDialog
      {...(Preview !== undefined && { preview: (value: FormValue) => <Preview value={value} path={path} /> })}
      {...(isNew && MODULE_BEGINNINGS[module.name] !== undefined && { initial: MODULE_BEGINNINGS[module.name] })}
      title={isNew ? `Add ${module.title}` : `Edit ${module.title}`}
      edited={edited}
      onClose={onClose}
      onSaved={() => {
        toast(`${module.title} saved.`);
        onSaved();
      }}
    />
  );
}

async function openModule(path: string, isNew: boolean): Promise<{ config: Document | null; etag: string | null }> {
  if (isNew) return { config: null, etag: null };
  const { data, etag } = await request<Document>('GET', path);
  return { config: data, etag };
}
