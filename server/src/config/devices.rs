//! The list of devices that hold the store.
//!
//! Owns its texts. Must never open one.

use std::path::PathBuf;

use toml::de::DeValue;

use super::value::{Setting, parse_size, quote, size_text};

/// One device: a file that the server creates and grows, or a raw block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceConfig {
    /// Where it is; a relative path is taken from `dir`.
    pub path: PathBuf,
    /// Bytes that the store may use of it. A file needs this; of a block device all is used where
    /// it is missing.
    pub size_bytes: Option<u64>,
}

/// The devices, in the order in which segments are striped over them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Devices(pub Vec<DeviceConfig>);

/// Texts of flags and CONFIG: `path [size]`, separated by commas.
impl Setting for Devices {
    fn text(&self) -> String {
        let devices = self.0.iter().map(|device| match device.size_bytes {
            Some(bytes) => format!("{} {}", device.path.display(), size_text(bytes)),
            None => device.path.display().to_string(),
        });
        devices.collect::<Vec<_>>().join(", ")
    }

    fn toml(&self) -> String {
        let devices = self.0.iter().map(|device| {
            let path = quote(&device.path.to_string_lossy());
            match device.size_bytes {
                Some(bytes) => format!("{{ path = {path}, size = {} }}", quote(&size_text(bytes))),
                None => format!("{{ path = {path} }}"),
            }
        });
        format!("[{}]", devices.collect::<Vec<_>>().join(", "))
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        self.0 = text
            .split(',')
            .map(parse_device)
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    fn set_toml(&mut self, value: &DeValue<'_>) -> Result<(), String> {
        let DeValue::Array(items) = value else {
            return Err(EXPECTED.into());
        };
        self.0 = items
            .iter()
            .map(|item| read_device(item.get_ref()))
            .collect::<Result<_, _>>()?;
        Ok(())
    }
}

const EXPECTED: &str =
    "argument must be a list such as [{ path = \"store.cellar\", size = \"64gb\" }]";

fn parse_device(text: &str) -> Result<DeviceConfig, String> {
    let text = text.trim();
    let (path, size) = match text.rsplit_once(char::is_whitespace) {
        Some((path, size)) => (path.trim_end(), Some(parse_device_size(size)?)),
        None => (text, None),
    };
    if path.is_empty() {
        return Err("a device needs a path, and a file a size: \"store.cellar 64gb\"".into());
    }
    Ok(DeviceConfig {
        path: path.into(),
        size_bytes: size,
    })
}

fn read_device(value: &DeValue<'_>) -> Result<DeviceConfig, String> {
    let DeValue::Table(table) = value else {
        return Err(EXPECTED.into());
    };
    let mut path = None;
    let mut size_bytes = None;
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("path", DeValue::String(text)) => path = Some(PathBuf::from(text.as_ref())),
            ("size", DeValue::String(text)) => size_bytes = Some(parse_device_size(text)?),
            ("size", DeValue::Integer(bytes)) => {
                size_bytes = Some(parse_device_size(&bytes.to_string())?);
            }
            ("path" | "size", _) => return Err(EXPECTED.into()),
            (unknown, _) => return Err(format!("unknown key '{unknown}' in a device")),
        }
    }
    let path = path
        .filter(|path| !path.as_os_str().is_empty())
        .ok_or("a device needs a path")?;
    Ok(DeviceConfig { path, size_bytes })
}

fn parse_device_size(text: &str) -> Result<u64, String> {
    parse_size(text)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("'{text}' is not a memory value such as 64gb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back() {
        let mut devices = Devices(Vec::new());
        devices.set("a.cellar 64gb, /dev/nvme0n1").unwrap();
        assert_eq!(devices.0.len(), 2);
        assert_eq!(devices.0[0].size_bytes, Some(64 << 30));
        assert_eq!(devices.0[1].size_bytes, None);
        let mut again = Devices(Vec::new());
        again.set(&devices.text()).unwrap();
        assert_eq!(again, devices);
        again
            .set_toml(DeValue::parse(&devices.toml()).unwrap().get_ref())
            .unwrap();
        assert_eq!(again, devices);
    }

    #[test]
    fn refuses_what_is_no_device() {
        let mut devices = Devices(Vec::new());
        assert_eq!(
            devices.set("a 5x").unwrap_err(),
            "'5x' is not a memory value such as 64gb"
        );
        let value = DeValue::parse("[{ path = \"a\", sice = 5 }]").unwrap();
        let error = devices.set_toml(value.get_ref()).unwrap_err();
        assert_eq!(error, "unknown key 'sice' in a device");
    }
}
