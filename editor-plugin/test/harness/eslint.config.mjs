import base from '../../eslint.config.mjs';

export default [
  ...base,
  { ignores: ['**/*.cjs', 'node_modules/**', 'node_lane/**'] },
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
];
