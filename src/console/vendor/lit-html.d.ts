/** The library is served beside the modules, since a browser resolves no package names. */
export * from 'lit-html'
