/** Which documents may be sent. What may not is never opened on the server, so nothing of it leaves the machine. */

import { globPattern } from './globs.js';

/** Files that tend to hold secrets. */
export const DEFAULT_EXCLUSIONS: readonly string[] = [
  '**/.env',
  '**/.env.*',
  '**/.envrc',
  '**/*.env',
  '**/*.pem',
  '**/*.key',
  '**/*.p8',
  '**/*.p12',
  '**/*.pfx',
  '**/*.jks',
  '**/*.keystore',
  '**/*.kdbx',
  '**/*.ovpn',
  '**/*.tfvars',
  '**/*.tfstate',
  '**/id_{rsa,dsa,ecdsa,ed25519}{,*[!b],*[!u]b,*[!p]ub,*[!.]pub}',
  '**/{credentials,secrets}.{json,yaml,yml,toml,ini}',
  '**/service{-,_,}account*.json',
  '**/{.npmrc,.netrc,_netrc,.pypirc,.pgpass,.htpasswd,.git-credentials}',
  '**/{.vault_pass,.vault_pass.*,kubeconfig,.dockerconfigjson,.boto,.s3cfg}',
  '**/{.ssh,.aws,.gnupg,.kube,.docker}/**',
];

/** Where people write what they may want completed: files, also remote ones, and what is not saved yet. */
export const DEFAULT_SCHEMES: readonly string[] = ['file', 'untitled', 'vscode-remote', 'vscode-notebook-cell'];

export interface ExclusionRules {
  /** Kinds of documents that may be sent. */
  readonly schemes: readonly string[];
  /** Files that may not. */
  readonly globs: readonly string[];
}

export const DEFAULT_RULES: ExclusionRules = { schemes: DEFAULT_SCHEMES, globs: DEFAULT_EXCLUSIONS };

/**
 * Why a document may not be sent; undefined if it may. Upper and lower case are the same: on some systems they are, and
 * in doubt nothing leaves.
 */
export function exclusionReason(uri: string, rules: ExclusionRules = DEFAULT_RULES): string | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase() ?? '';
  if (!rules.schemes.includes(scheme)) {
    return `Documents of the kind "${scheme}:" are never sent.`;
  }
  const path = pathOf(uri.slice(scheme.length + 1));
  const glob = rules.globs.find((one) => patternOf(one).test(path));
  return glob === undefined ? undefined : `Files that match ${glob} are never sent.`;
}

/** The path of a URI behind its scheme, without authority, query and fragment, as people write it. */
function pathOf(rest: string): string {
  const path = rest.replace(/^\/\/[^/?#]*/, '').replace(/[?#].*$/su, '');
  try {
    return decodeURIComponent(path).replaceAll('\\', '/');
  } catch {
    return path.replaceAll('\\', '/'); // a percent sign that encodes nothing
  }
}

const patterns = new Map<string, RegExp>();

function patternOf(glob: string): RegExp {
  let pattern = patterns.get(glob);
  if (pattern === undefined) {
    pattern = globPattern(glob);
    patterns.set(glob, pattern);
  }
  return pattern;
}

/** Whether a language is on: by its own entry of a map, or by that of `*`, or else yes. */
export function languageEnabled(map: Readonly<Record<string, boolean>>, language: string): boolean {
  const own = (name: string): boolean | undefined => (Object.hasOwn(map, name) ? map[name] : undefined);
  return own(language) ?? own('*') ?? true;
}
