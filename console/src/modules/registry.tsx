import type { ComponentType } from 'preact';
import { AccessPreview } from './access-preview.tsx';
import { AccessView } from './access-view.tsx';
import { BackendView } from './backend-view.tsx';
import { BasicAuthView } from './basic-auth-view.tsx';
import type { ModulePreviewProps, ModuleViewProps } from './module-view.ts';
import { OidcView } from './oidc-view.tsx';
import { PathRulesView } from './path-rules-view.tsx';
import { RateLimitView } from './rate-limit-view.tsx';

/** Shown below the form while a module is edited. */
export const MODULE_PREVIEWS: Readonly<Record<string, ComponentType<ModulePreviewProps>>> = {
  access: AccessPreview,
};

/** Modules with a view of their own. All others are shown field by field. */
export const MODULE_VIEWS: Readonly<Record<string, ComponentType<ModuleViewProps>>> = {
  oidc: OidcView,
  access: AccessView,
  backend: BackendView,
  rate_limit: RateLimitView,
  redirect: PathRulesView,
  rewrite: PathRulesView,
  basic_auth: BasicAuthView,
};
